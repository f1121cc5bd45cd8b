"""Keys that a user gives, as look-ups take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.conversions.unfit import Unfit, matched
from keyfold.tables.rows.incoming import incoming
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import NAMED
from keyfold.write.targets import names_of

MOST_KEYS = 1 << 20  # of one round, whose rows are in memory twice


def keys_of(layout: TableLayout, keys: Any, doing: str) -> pa.RecordBatch:
    """Keys that a user gives, in any form of rows, as one batch of the primary key's columns in the
    table's types. Raises TableError if they have other columns; `doing` says what they are for.
    """
    wanted = _primary_key(layout)
    found = incoming(layout, keys, doing=doing)
    if found.columns and {*found.own} != {*wanted}:
        raise _of_other_columns(layout, found.own)
    schema = pa.schema([layout.column(name).arrow_field for name in wanted])
    batches = []
    for batch in found.batches:
        if NAMED in found.columns and (few := pc.drop_null(batch.column(NAMED))):
            raise _of_other_columns(layout, names_of(few[0].as_py()))
        arrays = [batch.column(name) for name in wanted]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)


def rounds(asked: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The keys, as many at once as are looked up together; one batch at least."""
    for at in range(0, max(asked.num_rows, 1), MOST_KEYS):
        yield asked.slice(at, MOST_KEYS)


def key_of(layout: TableLayout, key: Mapping[str, Any]) -> pa.RecordBatch:
    """One key as `keys_of` gives it. Raises TableError if it has other columns."""
    wanted = _primary_key(layout)
    named = _named(layout, key)
    if named.keys() != {*wanted}:
        raise _of_other_columns(layout, key)
    return _one_row(layout, wanted, named)


def _named(layout: TableLayout, key: Mapping[str, Any]) -> dict[str, Any]:
    """A key by the names of columns, in whatever letter case it has them."""
    _check_is_mapping(layout, key)
    names = [column.name for column in layout.columns]
    return {matched(names, str(name)) or str(name): value for name, value in key.items()}


def _one_row(layout: TableLayout, names: Sequence[str], key: Mapping[str, Any]) -> pa.RecordBatch:
    columns = [layout.column(name) for name in names]
    try:
        arrays = [converted([key[column.name]], column.type, column.name) for column in columns]
    except Unfit as error:
        raise TableError(
            f"table {layout.name}: {key!r} is not a key: {error.told(converted)}"
        ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([c.arrow_field for c in columns]))


def _of_other_columns(layout: TableLayout, found: Any) -> TableError:
    return TableError(
        f"table {layout.name}: expected keys with the columns {', '.join(layout.primary_key)}, "
        f"found {', '.join(map(str, found)) or 'none'}"
    )


def _primary_key(layout: TableLayout) -> tuple[str, ...]:
    if not layout.primary_key:
        raise TableError(f"table {layout.name} has no primary key to look up by")
    return layout.primary_key


def _check_is_mapping(layout: TableLayout, key: object) -> None:
    if not isinstance(key, Mapping):
        wanted = ", ".join(f"{name!r}: …" for name in layout.primary_key)
        raise TableError(f"table {layout.name}: expected a key as {{{wanted}}}, found {key!r:.100}")


def prefix_of(layout: TableLayout, given: Mapping[str, Any]) -> pa.RecordBatch:
    """Values of the first columns of the key, as one row. Raises TableError if they are not those,
    the partition's columns left out.
    """
    _primary_key(layout)
    named = _named(layout, given)
    leading = layout.key[: sum(name in layout.key for name in named)]
    if not named or {*named} - {*layout.partition_keys} != {*leading}:
        raise TableError(
            f"table {layout.name}: expected the first columns of the key "
            f"({', '.join(layout.primary_key)}), found {', '.join(map(str, given)) or 'none'}"
        )
    return _one_row(layout, tuple(named), named)
