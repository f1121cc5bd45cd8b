"""partial-update as text: sequence groups, retractions, removals, functions; what is refused."""

import re
from typing import Any

import pyarrow as pa
import pytest

from keyfold.errors import NotSupportedError, TableError
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.marks.mark_columns import FIELDS
from keyfold.merge.plan import check, plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.checks import check_create
from keyfold.options.names import normalize
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.wire.layout import TableLayout
from tests.definitions import fold

REMOVE = "partial-update.remove-record-on-delete"
REMOVE_GROUP = "partial-update.remove-record-on-sequence-group"
GROUPS = {"fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
PLAIN = {"k": "INT", "a": "STRING", "b": "STRING"}
GROUPED = {"k": "INT", "a": "STRING", "g": "INT", "b": "STRING", "h": "INT", "x": "STRING"}
PAIR = {"k": "INT", "a": "INT", "g": "INT", "h": "INT"}
ONE = {"k": "INT", "a": "STRING", "g": "INT"}
SUM = {"k": "INT", "s": "INT", "g": "INT"}
SUMMED = {"fields.g.sequence-group": "s", "fields.s.aggregate-function": "sum"}


def table(columns: dict[str, str], options: dict[str, str]) -> TableLayout:
    return layout(columns, ["k"], {"merge-engine": "partial-update", **normalize(options)})


def written(found: TableLayout, text: str) -> str:
    """What one job makes of these records; the definition agrees."""
    rows = parse(found, text)
    out = fold_unsorted(plan_merge(found, [c.name for c in found.columns]), [batch(found, rows)])
    assert records(out) == fold(found, rows)
    return render(records(out))


def read(found: TableLayout, *texts: str) -> str:
    """What a reader sees of one run per text."""
    parts = [batch(found, parse(found, text)) for text in texts]
    runs = [SortedRun(iter([part]), (i, i)) for i, part in enumerate(parts)]
    return render(
        records(list(merge_runs(plan_merge(found, [c.name for c in found.columns]), runs)))
    )


@pytest.mark.parametrize(
    ("options", "text", "result"),
    [
        ({}, "+I 1 x null | +I 1 null y | +U 1 z null", "+I 1 z y"),
        ({}, "+I 1 x null | +I 2 null null | +I 1 null null", "+I 1 x null | +I 2 null null"),
        ({"ignore-delete": "true"}, "+I 1 x null | -D 1 q q | -U 1 q q | +I 1 null y", "+I 1 x y"),
        ({REMOVE: "true"}, "+I 1 x y | -D 1 x y", "-D 1 x y"),
        ({REMOVE: "true"}, "+I 1 x y | -D 1 null null | +I 1 null z", "+I 1 null z"),
        ({REMOVE: "true"}, "+I 1 x y | -D 1 p null | +I 1 null z", "+I 1 p z"),
        ({REMOVE: "true"}, "-U 1 seed null | +U 1 null y", "+I 1 seed y"),
        ({REMOVE: "true"}, "+I 1 x y | -D 1 x y | -U 1 x y", "+I 1 x y"),
        ({REMOVE: "true"}, "-U 1 x y | -U 1 p q", "-D 1 x y"),
        ({REMOVE: "true"}, "-D 1 x y", "-D 1 x y"),
    ],
)
def test_without_groups(options: dict[str, str], text: str, result: str) -> None:
    assert written(table(PLAIN, options), text) == result


@pytest.mark.parametrize(
    ("options", "text", "result"),
    [
        ({}, "+I 1 p 5 q 5 r | +I 1 s 4 t 6 null", "+I 1 p 5 t 6 r"),
        ({}, "+I 1 p 5 q 5 r | +I 1 null 5 null null z", "+I 1 null 5 q 5 z"),
        ({}, "+I 1 p null q 1 r | +I 1 s null null null null", "+I 1 null null q 1 r"),
        ({}, "+I 1 p null q null r", "+I 1 p null q null r"),
        ({}, "+I 1 p 5 q 5 r | -D 1 s 6 t 4 u", "+I 1 null 6 q 5 r"),
        ({}, "+I 1 p 5 q 5 r | -D 1 s 6 t 4 u | +I 1 z 5 null null v", "+I 1 null 6 q 5 v"),
        ({}, "-D 1 p 5 q null r | -U 1 s 6 null null null", "-D 1 null 6 q null r"),
        ({}, "-D 1 p 5 q null r | +I 1 s null t null null", "+I 1 null 5 q null r"),
        ({REMOVE_GROUP: "h"}, "+I 1 p 5 q 5 r | -D 1 s 1 t 5 null", "-D 1 s 1 t 5 null"),
        ({REMOVE_GROUP: "h"}, "+I 1 p 5 q 5 r | -D 1 s 6 t 4 null", "+I 1 null 6 q 5 r"),
        ({REMOVE_GROUP: "h"}, "+I 1 p 5 q 5 r | -D 1 s 6 t null u", "+I 1 null 6 q 5 r"),
        ({REMOVE_GROUP: "h"}, "+I 1 p 5 q 5 r | -U 1 s 6 t 6 u", "+I 1 null 6 null 6 r"),
        (
            {REMOVE_GROUP: "h"},
            "+I 1 p 5 q 5 r | -D 1 s 1 t 7 null | +I 1 u 2 v 6 w",
            "+I 1 u 2 t 7 w",
        ),
    ],
)
def test_groups(options: dict[str, str], text: str, result: str) -> None:
    assert written(table(GROUPED, GROUPS | options), text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("+I 1 1 1 9 | +I 1 2 2 null", "+I 1 2 2 null"),
        ("+I 1 1 1 9 | +I 1 2 1 8", "+I 1 1 1 9"),
        ("+I 1 1 1 9 | +I 1 2 1 9", "+I 1 2 1 9"),
        ("+I 1 1 1 9 | +I 1 2 null 10", "+I 1 1 1 9"),
        ("+I 1 1 null 9 | +I 1 2 null null", "+I 1 1 null 9"),
        ("+I 1 1 null 9 | +I 1 2 null 10", "+I 1 2 null 10"),
    ],
)
def test_a_group_of_two_fields_is_replaced_as_one(text: str, result: str) -> None:
    assert written(table(PAIR, {"fields.g,h.sequence-group": "a"}), text) == result


@pytest.mark.parametrize(
    ("function", "text", "result"),
    [
        ("last_value", "+I 1 b 2 | +I 1 a 1", "+I 1 b 2"),
        ("last_non_null_value", "+I 1 null 3 | +I 1 a 2 | +I 1 z 1", "+I 1 a 3"),
        ("first_value", "+I 1 b 2 | +I 1 c 3 | +I 1 null 1", "+I 1 null 3"),
        ("first_non_null_value", "+I 1 b 2 | +I 1 c 3 | +I 1 a 1", "+I 1 a 3"),
        # Paimon asks the function with the older value as what is there: a NULL wipes it for good,
        # and a value that came so is not yet "the first".
        ("first_non_null_value", "+I 1 b 2 | +I 1 null 1", "+I 1 null 2"),
        ("first_non_null_value", "+I 1 b 2 | +I 1 null 1 | +I 1 d 4", "+I 1 null 4"),
        ("first_non_null_value", "+I 1 null 2 | +I 1 a 1 | +I 1 d 4", "+I 1 d 4"),
        ("listagg", "+I 1 b 2 | +I 1 c 3 | +I 1 a 1 | +I 1 z 0", "+I 1 z,a,b,c 3"),
        ("max", "+I 1 b 2 | +I 1 c 1", "+I 1 c 2"),
    ],
)
def test_older_records(function: str, text: str, result: str) -> None:
    options = {"fields.g.sequence-group": "a", "fields.a.aggregate-function": function}
    assert written(table(ONE, options), text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("+I 1 10 5 | +I 1 3 1", "+I 1 13 5"),
        ("+I 1 10 5 | -D 1 3 1", "+I 1 7 5"),
        ("+I 1 10 5 | -D 1 3 null", "+I 1 10 5"),
        ("-D 1 3 5 | +I 1 10 6", "+I 1 10 6"),
        ("-D 1 3 5 | -D 1 4 6", "-D 1 -4 6"),
    ],
)
def test_a_sum_takes_older_records_and_retractions(text: str, result: str) -> None:
    assert written(table(SUM, SUMMED), text) == result


def test_a_removed_row_begins_with_the_delete() -> None:
    found = table(SUM, SUMMED | {REMOVE_GROUP: "g"})
    assert written(found, "+I 1 10 5 | -D 1 3 6 | +I 1 4 7") == "+I 1 7 7"
    listed = {"fields.g.sequence-group": "a", "fields.a.aggregate-function": "listagg"}
    found = table(ONE, listed | {REMOVE_GROUP: "g", "fields.a.ignore-retract": "true"})
    text = "+I 1 a 1 | -D 1 d 5 | +I 1 c 4 | +I 1 e 6 | +I 1 b 3"
    assert written(found, text) == "+I 1 b,c,d,e 6"


def test_a_column_is_read_with_its_group_alone() -> None:
    found = table(GROUPED, GROUPS)
    assert plan_merge(found, ["a"]).reads == ("k", "a", "g")
    assert plan_merge(found, ["x"]).reads == ("k", "x")
    assert plan_merge(table(GROUPED, GROUPS | {REMOVE_GROUP: "h"}), ["x"]).reads == ("k", "h", "x")


def test_sequence_field_orders_records_and_groups_compare_their_own() -> None:
    found = table(ONE | {"s": "INT"}, {"sequence.field": "s", "fields.g.sequence-group": "a"})
    assert read(found, "+I 1 x 1 2", "+I 1 y 2 1") == "+I 1 y 2 2"


def test_a_retraction_is_refused_where_it_meets_another_record() -> None:
    found = table(PLAIN, {})
    assert read(found, "+I 1 a b | -D 2 a b", "+I 3 a b") == "+I 1 a b | +I 3 a b"
    words = r"\(k = 2\): By default, Partial update can not accept delete records(.|\n)*1\. Conf"
    with pytest.raises(TableError, match=words):
        read(found, "+I 1 a b | +I 2 a b", "-D 2 a b")


def test_ignore_delete_also_covers_files_written_without_it() -> None:
    found = table(PLAIN, {"ignore-delete": "true"})
    assert read(found, "+I 1 a null | -D 2 a b", "-D 1 a q | -U 2 a b", "+I 1 null c") == "+I 1 a c"


def test_a_null_that_a_column_can_t_hold_is_refused() -> None:
    found = table(ONE | {"a": "STRING NOT NULL"}, {"fields.g.sequence-group": "a"})
    assert read(found, "+I 1 x 1", "+I 1 y 2 | -D 2 z 2") == "+I 1 y 2"
    with pytest.raises(TableError, match=r"column a, key \(k = 1\): merging left NULL in a NOT"):
        read(found, "+I 1 x 1", "-D 1 x 2")
    assert read(found, "-D 1 x 1", "-D 1 x 2") == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"fields.g.sequence-group": "a", "fields.h.sequence-group": "a"},
            "Field a is defined repeatedly by multiple groups",
        ),
        (
            {"fields.g.sequence-group": "a,h", "fields.h.sequence-group": "b"},
            "Field h is defined repeatedly by multiple groups",
        ),
        (
            {"fields.g.sequence-group": "a,a"},
            "Field a is defined repeatedly by multiple groups",
        ),
        ({"fields.g.sequence-group": "nope"}, "Field nope can not be found in table schema."),
        (
            {"fields.z.sequence-group": "a"},
            "fields.z.sequence-group of table db.t: column z must be of an atomic type, it is ARR",
        ),
        (
            {"sequence.field": "z"},
            "option sequence.field of table db.t: column z must be of an atomic type, it is ARR",
        ),
        ({"fields.g.sequence-group": "a,"}, "fields.g.sequence-group of table db.t: expected col"),
        (
            {"fields.k.sequence-group": "a"},
            "The sequence-group 'fields.k.sequence-group' contains primary key field 'k'",
        ),
        (
            {"fields.g.sequence-group": "a,k"},
            "Primary key columns cannot be put in sequence-group.",
        ),
        (
            {"fields.x.aggregate-function": "listagg"},
            "Must use sequence group for aggregation functions but not found for field x.",
        ),
        (
            {"fields.g.sequence-group": "a", "fields.default-aggregate-function": "max"},
            "Must use sequence group for aggregation functions but not found for field b.",
        ),
        (
            {"fields.g.sequence-group": "a", "fields.g.aggregate-function": "max"},
            "Should not define aggregation function on sequence group: [g]",
        ),
        (
            {"fields.g.sequence-group": "a", REMOVE_GROUP: "a"},
            f"field 'a' defined in '{REMOVE_GROUP}' option must be part of sequence groups",
        ),
        (
            {"ignore-delete": "true", REMOVE: "true"},
            f"ignore-delete and {REMOVE} have conflicting behavior so should not be enabled",
        ),
        (
            {"ignore-delete": "true", REMOVE_GROUP: "g", "fields.g.sequence-group": "a"},
            f"ignore-delete and {REMOVE_GROUP} have conflicting behavior so should not be enabled",
        ),
        (
            {REMOVE: "true", "fields.g.sequence-group": "a"},
            f"sequence-group and {REMOVE} have conflicting behavior so should not be enabled",
        ),
    ],
)
def test_create_refuses_in_paimons_words(options: dict[str, str], words: str) -> None:
    columns: dict[str, Any] = GROUPED | {"z": {"type": "ARRAY", "element": "INT"}}
    found = table(columns, {"bucket": "1"} | options)

    def create() -> None:
        check_create(found)
        check(found)

    with pytest.raises((TableError, NotSupportedError), match=re.escape(words)):
        create()


def test_create_takes_what_paimon_takes() -> None:
    check(table(GROUPED, {"fields.g.sequence-group": "g,a", "fields.h.sequence-group": "b"}))
    check(table(GROUPED, {"fields.default-aggregate-function": "last_non_null_value"}))
    default = {"fields.g.sequence-group": "a,b,x", "fields.default-aggregate-function": "max"}
    check(table({name: GROUPED[name] for name in ("k", "a", "g", "b", "x")}, default))


def test_a_first_value_that_no_record_named_is_still_to_come() -> None:
    options = {"fields.g.sequence-group": "a", "fields.a.aggregate-function": "first_value"}
    found = table(ONE, options)
    merge = plan_merge(found, list(ONE), marks=True)
    sequence = str(found.column("g").id)

    def run(text: str, named: str | None, number: int) -> SortedRun:
        part = batch(found, parse(found, text))
        texts = (pa.array([named], pa.utf8()), pa.array([None], pa.utf8()))
        for field, column in zip(FIELDS, texts, strict=True):
            part = part.append_column(field, column)
        return SortedRun(iter([part]), (number, number))

    unnamed = [run("+I 1 null 1", sequence, 1), run("+I 1 null 2", sequence, 2)]
    compacted = list(merge_runs(merge, unnamed))
    later = run("+I 1 x 3", None, 3)
    assert render(
        records(list(merge_runs(merge, [SortedRun(iter(compacted), (1, 2)), later])))
    ) == ("+I 1 x 3")
    named = [run("+I 1 null 1", None, 1), run("+I 1 x 3", None, 3)]
    assert render(records(list(merge_runs(merge, named)))) == "+I 1 null 3"
