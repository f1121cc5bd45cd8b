"""The forms in which changes are shown: the columns of each, and their rows.

A batch of changes has the table's columns, `_VALUE_KIND`, `_commit_version` and
`_commit_timestamp`. A -U is directly followed by its +U.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import NotSupportedError, TableError
from keyfold.kernels.ops import DELETE, KIND_NAMES, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.merge import kinds as row_kinds
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.types import arrow as arrow_types
from keyfold.types import spark as spark_types
from keyfold.types.logical import Array, Atomic, DataType, with_nullability
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND

CHANGE, VERSION, TIME = "_change_type", "_commit_version", "_commit_timestamp"
ROW_KIND = "rowkind"
# By kind: Spark's words for both images of an update, and where updates are not asked for.
_UPDATES = ("insert", "update_preimage", "update_postimage", "delete")
_ROWS = ("insert", "delete", "insert", "delete")
_TEXT = Atomic("STRING", False)
COMMIT = {VERSION: Atomic("BIGINT", False), TIME: Atomic("TIMESTAMP_LTZ", False, 6)}
Columns = dict[str, DataType]
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class View:
    """One form: its columns by the table's, and its rows by those of changes. In a `plain` view the
    table's columns are as they are, so that conditions on them hold before rows are shaped.
    """

    name: str
    columns: Callable[[Columns], Columns]
    shaped: Callable[[Batches, Sequence[str], bool], Batches]
    is_plain: bool = True


def view(name: str) -> View:
    """The view of that name."""
    return _BY_NAME[name]


def columns_of(found: View, layout: TableLayout) -> Columns:
    """The columns of a table's changes. Raises NotSupportedError if the table has a column of a
    name that the view adds, or of those that changes carry until the view is made of them.
    """
    own = {column.name: column.type for column in layout.columns}
    shown = found.columns(own)
    plain = found.columns({}).keys() | COMMIT.keys()
    if clash := [name for name in own if name.lower() in plain]:
        raise NotSupportedError(
            f"table {layout.name} has a column {clash[0]}, which is the name of a column that "
            f"changes are shown with: ALTER TABLE … RENAME COLUMN {clash[0]} TO … first (in Python "
            f"table.alter(rename={{{clash[0]!r}: …}}))"
        )
    return shown


def check_columns(found: View, layout: TableLayout, names: Iterable[str]) -> None:
    """Raises TableError if the view has no column of one of these names."""
    known = columns_of(found, layout)
    if unknown := [name for name in names if name not in known]:
        raise TableError(
            f"changes of table {layout.name}: view {found.name} has no column {unknown[0]}; it has "
            f"{', '.join(known)}"
        )


def to_json(found: View, layout: TableLayout) -> list[dict[str, Any]]:
    """The columns in the JVM's form."""
    comments = {column.name: column.comment for column in layout.columns}
    shown = columns_of(found, layout).items()
    return [spark_types.column_json(name, kind, comments.get(name)) for name, kind in shown]


def schema_of(found: View, layout: TableLayout, names: Sequence[str]) -> pa.Schema:
    """The Arrow schema of some columns of a view."""
    kinds = columns_of(found, layout)
    return pa.schema(
        [pa.field(name, arrow_types.to_arrow(kinds[name]), kinds[name].nullable) for name in names]
    )


def _worded(batches: Batches, names: Sequence[str], column: str, words: Sequence[str]) -> Batches:
    """The rows with a column that has a word for the kind of each."""
    texts = pa.array(words, pa.string())
    for batch in batches:
        made = texts.take(batch.column(KIND)) if column in names else None
        yield _selected(batch if made is None else batch.append_column(column, made), names)


def _changes(batches: Batches, names: Sequence[str], updates: bool) -> Batches:
    return _worded(batches, names, CHANGE, _UPDATES if updates else _ROWS)


def _audit_log(batches: Batches, names: Sequence[str], _: bool) -> Batches:
    return _worded(batches, names, ROW_KIND, KIND_NAMES)


def _rows(batches: Batches, names: Sequence[str], _: bool) -> Batches:
    for batch in batches:
        takes_back = is_retract(_kinds(batch))
        yield _selected(batch.filter(pa.array(~takes_back)), names)


def _rows_alone(batches: Batches, names: Sequence[str], _: bool) -> Batches:
    def checked() -> Batches:
        for batch in batches:
            gone = np.flatnonzero(_kinds(batch) == DELETE)
            if len(gone):
                raise NotSupportedError(
                    f"snapshot {batch.column(VERSION)[int(gone[0])]} deletes rows, which a stream "
                    "of rows can't show: stream the changes (readStream.changes(…), t$audit_log), "
                    "or read with the option ignore-deletes = true"
                )
            yield batch

    yield from _rows(checked(), names, _)


def _binlog(batches: Batches, names: Sequence[str], _: bool) -> Batches:
    words = pa.array(KIND_NAMES, pa.string())
    for batch in _in_pairs(batches):
        kinds = _kinds(batch)
        ends = (kinds != UPDATE_BEFORE) | (np.append(kinds[1:], UPDATE_BEFORE) != UPDATE_AFTER)
        last = np.flatnonzero(ends)
        offsets = pa.array(np.append(0, last + 1), pa.int32())
        made = {ROW_KIND: words.take(batch.column(KIND).take(pa.array(last)))}
        for name in names:
            if name != ROW_KIND:
                made[name] = pa.ListArray.from_arrays(offsets, batch.column(name))
        yield _selected(pa.RecordBatch.from_arrays(list(made.values()), names=list(made)), names)


def _in_pairs(batches: Batches) -> Batches:
    """Rows cut anew, so that no batch ends between a -U and its +U."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        whole = batch if held is None else pa.concat_batches([held, batch])
        cut = whole.num_rows - int(_kinds(whole)[-1] == UPDATE_BEFORE)
        held = whole.slice(cut) if cut < whole.num_rows else None
        if cut:
            yield whole.slice(0, cut)
    if held is not None:
        yield held


def _kinds(batch: pa.RecordBatch) -> Kinds:
    found = row_kinds.of(batch)
    assert found is not None, "every change has a kind"
    return found


def _selected(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    if not names:  # COUNT(*)
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return batch.select(names)


def _listed(columns: Columns) -> Columns:
    arrays = {name: Array(with_nullability(kind, True)) for name, kind in columns.items()}
    return {ROW_KIND: _TEXT, **arrays}


CHANGES = View("changes", lambda own: {**own, CHANGE: _TEXT, **COMMIT}, _changes)
AUDIT_LOG = View("audit_log", lambda own: {ROW_KIND: _TEXT, **own}, _audit_log)
BINLOG = View("binlog", _listed, _binlog, is_plain=False)
ROWS = View("rows", lambda own: own, _rows)
ROWS_ALONE = View("rows_without_deletes", lambda own: own, _rows_alone)  # a delete is an error
_BY_NAME = {found.name: found for found in (CHANGES, AUDIT_LOG, BINLOG, ROWS, ROWS_ALONE)}
