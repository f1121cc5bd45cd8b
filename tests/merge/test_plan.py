"""What CREATE and planning refuse, and the words they use; overflow; kinds from text."""

import pyarrow as pa
import pytest

from keyfold.errors import FoldOverflowError, NotSupportedError, TableError
from keyfold.merge.engine import Engine
from keyfold.merge.kinds import from_text
from keyfold.merge.plan import check, plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.engines import by_name, engines
from keyfold.testing.tables import batch, layout, parse

AGGREGATION = {"merge-engine": "aggregation"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields.v.aggregate-function": "summ"}, r"identifier 'summ'\. Did you mean 'sum'\?"),
        ({"fields.default-aggregate-function": "no_such"}, "default-aggregate-function: Could not"),
        (
            {"fields.s.aggregate-function": "sum"},
            "Data type for sum column 's' must be 'NumericType' but was 'STRING'",
        ),
        ({"fields.s.aggregate-function": "bool_or"}, "must be 'BooleanType' but was 'STRING'"),
        (
            {"sequence.field": "v", "fields.v.aggregate-function": "sum"},
            "Should not define aggregation on sequence field: 'v'",
        ),
        (
            {"aggregation.remove-record-on-delete": "true", "fields.v.ignore-retract": "true"},
            "remove-record-on-delete and fields.v.ignore-retract have conflicting behavior",
        ),
    ],
)
def test_create_refuses_by_name(options: dict[str, str], words: str) -> None:
    table = layout({"k": "INT", "v": "INT", "s": "STRING"}, ["k"], AGGREGATION | options)
    with pytest.raises(TableError, match=words):
        check(table)


@pytest.mark.parametrize("engine", ["versioned", "no-such"])
def test_other_engines_are_refused_by_name(engine: str) -> None:
    table = layout({"k": "INT", "v": "INT"}, ["k"], {"merge-engine": engine})
    with pytest.raises(NotSupportedError, match=rf"found '{engine}', which is not supported"):
        check(table)


def test_functions_of_keys_sequence_fields_and_other_engines_are_not_looked_at() -> None:
    columns = {"k": "STRING", "q": "STRING", "v": "INT"}
    options = {"sequence.field": "q", "fields.default-aggregate-function": "sum"}
    check(layout(columns, ["k"], AGGREGATION | options))
    check(layout(columns, ["k"], {"fields.k.aggregate-function": "sum"}))


def test_a_plan_reads_output_key_and_sequence_fields_in_table_order() -> None:
    columns = {"v": "INT", "p": "INT", "k": "INT", "q": "INT", "x": "INT"}
    found = plan_merge(layout(columns, ["p", "k"], {"sequence.field": "q"}), ["v"])
    assert (found.output, found.reads, found.key) == (("v",), ("v", "p", "k", "q"), ("p", "k"))


@pytest.mark.parametrize(
    ("kind", "wider"),
    [
        ("TINYINT", "BIGINT"),
        ("BIGINT", r"DECIMAL\(38, 0\)"),
        ("DECIMAL(4, 2)", r"DECIMAL\(38, 2\)"),
    ],
)
def test_an_overflow_names_table_column_key_and_a_wider_type(kind: str, wider: str) -> None:
    columns = {"k": "INT", "j": "STRING", "v": kind, "w": "INT"}
    table = layout(columns, ["k", "j"], AGGREGATION | {"fields.v.aggregate-function": "sum"})
    most = {"TINYINT": 127, "BIGINT": 2**63 - 1, "DECIMAL(4, 2)": 99}[kind]
    part = batch(table, [(0, {"k": 7, "j": "x", "v": most, "w": 1})])

    def runs() -> list[SortedRun]:
        return [SortedRun(iter([part]), (i, i)) for i in range(3)]

    words = rf"table db\.t, column v: the sum for key \(k = 7, j = x\).*TYPE {wider} "
    with pytest.raises(FoldOverflowError, match=words):
        list(merge_runs(plan_merge(table, ["v"]), runs()))
    assert sum(out.num_rows for out in merge_runs(plan_merge(table, ["k", "w"]), runs())) == 1


def test_an_unsupported_retraction_names_the_option() -> None:
    options = AGGREGATION | {"fields.v.aggregate-function": "max"}
    table = layout({"k": "INT", "v": "INT"}, ["k"], options)
    parts = [batch(table, parse(table, text)) for text in ("+I 1 5", "-D 1 5")]
    runs = [SortedRun(iter([part]), (i, i)) for i, part in enumerate(parts)]
    words = "'max' does not support retraction.*'fields.v.ignore-retract'='true'"
    with pytest.raises(TableError, match=words):
        list(merge_runs(plan_merge(table, ["v"]), runs))


def test_kinds_are_read_from_text() -> None:
    kinds = from_text(pa.array(["+I", "-U", "+U", "-D"]), "t", "rk", {})
    assert kinds.to_pylist() == [0, 1, 2, 3]
    with pytest.raises(TableError, match="Unsupported short string 'D' for row kind"):
        from_text(pa.array(["+I", "D"]), "t", "rk", {})
    with pytest.raises(
        TableError, match=r"Row kind cannot be null, .*leaves the column.*rowkind.map"
    ):
        from_text(pa.array(["+I", None]), "t", "rk", {})


def test_two_engines_of_one_name_are_refused() -> None:
    known = engines()["deduplicate"]
    again = Engine("deduplicate", known.check, known.prepare, known.definition)
    with pytest.raises(ValueError, match="deduplicate is declared twice, again in theirs"):
        by_name([("ours", known), ("theirs", again)])
