"""What a job may name and overwrite, in which words it is refused, and the files it makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.errors import TableError
from keyfold.options.calls import WRITE, split
from keyfold.options.fluss import VERSION
from keyfold.testing.tables import layout
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import WriteSpec
from keyfold.write.targets import merge_mode, named_columns
from keyfold.write.writer import write

COLUMNS = {"k": "INT", "A": "INT", "b c": "INT", "d,e": "INT"}
SUM = {"merge-engine": "aggregation", "fields.A.aggregate-function": "sum"}


def table(options: dict[str, str] | None = None, **more: str) -> TableLayout:
    return layout(COLUMNS | more, ["k"], options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("k, a", ("k", "A")),
        ("`d,e`,K", ("k", "d,e")),
        ("b c ,k", ("k", "b c")),
        ("k", ("k",)),
        ("k,A,b c,`d,e`", None),
    ],
)
def test_names_in_any_order_and_letter_case(text: str | None, expected: object) -> None:
    assert named_columns(table(), text, "append") == expected


def test_the_option_can_name_all_but_an_id() -> None:
    kept = layout({"k": "INT NOT NULL", "id": "BIGINT"}, ["k"], {"auto-increment.fields": "id"})
    assert named_columns(kept, "k", "append") is None
    assert named_columns(kept, "k", "append", by_option=True) == ("k", "id")


@pytest.mark.parametrize(
    ("kept", "text", "message"),
    [
        (table(), "A", r"write columns \[A\] must contain the primary key columns \[k\]\."),
        (table(), "k,zz", "Can not find target column: zz for table db.t."),
        (table(n="INT NOT NULL"), "k,A", "nullable, but column n is NOT NULL."),
        (table(n="INT NOT NULL"), "k,n", "nullable, but column n is NOT NULL."),
        (
            table({"merge-engine": "first-row"}),
            "k,A",
            "Partial update is not supported for the first_row merge engine.",
        ),
        (
            table({VERSION: "A", "sequence.field": "A"}),
            "k,A,b c,`d,e`",
            "Partial update is not supported for the versioned merge engine.",
        ),
    ],
)
def test_refused_names(kept: TableLayout, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        named_columns(kept, text, "append")


def test_an_insert_overwrite_may_name_a_column_that_is_not_null() -> None:
    kept = table(n="INT NOT NULL")
    assert named_columns(kept, "k,n", "overwrite") == ("k", "n")
    with pytest.raises(TableError, match="column n is NOT NULL"):
        named_columns(kept, "k,A", "overwrite")


def test_merge_mode_needs_a_merge_engine() -> None:
    assert merge_mode(table(), None) == "default"
    assert merge_mode(table(SUM), " Overwrite ") == "overwrite"
    assert merge_mode(table({VERSION: "A", "sequence.field": "A"}), "overwrite") == "overwrite"
    with pytest.raises(TableError, match="only supported where rows fold"):
        merge_mode(table(), "overwrite")
    with pytest.raises(TableError, match="expected default or overwrite, found 'replace'"):
        merge_mode(table(SUM), "replace")


def test_some_columns_are_not_overwritten_where_a_sequence_orders_whole_records() -> None:
    kept = table(SUM | {"sequence.field": "b c"})
    assert merge_mode(kept, "overwrite") == "overwrite"
    assert merge_mode(kept, "default", ("k", "A")) == "default"
    assert merge_mode(table(SUM), "overwrite", ("k", "A")) == "overwrite"
    with pytest.raises(TableError, match=r"some columns \[k, A\] .* sequence.field = b c orders"):
        merge_mode(kept, "overwrite", ("k", "A"))


def test_columns_of_a_group_are_overwritten_with_their_sequence() -> None:
    groups = {"merge-engine": "partial-update", "fields.A.sequence-group": "b c"}
    assert merge_mode(table(groups), "overwrite", ("k", "A", "b c")) == "overwrite"
    assert merge_mode(table(groups), "overwrite", ("k", "d,e")) == "overwrite"
    assert merge_mode(table(groups), "default", ("k", "b c")) == "default"
    for own, other in (("b c", "A"), ("A", "b c")):
        words = rf"the others of their group, fields.A.sequence-group = b c; name {other} too"
        with pytest.raises(TableError, match=words):
            merge_mode(table(groups), "overwrite", ("k", own))


def test_options_of_a_job_in_any_spelling() -> None:
    given = {"Merge-Mode": "x", "target_columns": "y", "bucket": "2", "path": "z"}
    assert split(WRITE, "t", given) == ({"merge_mode": "x", "target-columns": "y"}, {"bucket": "2"})


def files(kept: TableLayout, folder: Path, named: tuple[str, ...] | None, mode: str) -> set[str]:
    """Suffixes of the files of a job of one row."""
    placed = replace(kept, location=str(folder))
    spec = WriteSpec(placed, tuple(COLUMNS), False, 1, "job", named=named, merge_mode=mode)
    rows = pa.RecordBatch.from_pylist([dict.fromkeys(COLUMNS, 1)], kept.arrow_schema)
    return {Path(file.name).suffix for message in write(spec, [rows]) for file in message.files}


@pytest.mark.parametrize(
    ("options", "named", "mode", "expected"),
    [
        ({}, ("k", "A"), "default", ".keyfold"),
        ({}, None, "default", ".parquet"),
        (SUM, ("k", "A"), "default", ".parquet"),
        (SUM, None, "overwrite", ".keyfold"),
        (SUM | {"fields.b c.aggregate-function": "last_value"}, ("k", "A"), "default", ".keyfold"),
        (SUM | {"fields.A.aggregate-function": "last_value"}, ("k", "A"), "default", ".parquet"),
    ],
)
def test_only_files_with_marks_are_called_so(
    tmp_path: Path, options: dict[str, str], named: tuple[str, ...], mode: str, expected: str
) -> None:
    assert files(table(options | {"bucket": "1"}), tmp_path, named, mode) == {expected}
