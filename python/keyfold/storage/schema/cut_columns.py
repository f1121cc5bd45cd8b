"""Columns of other writers whose values lose digits when they are read: TIMESTAMP of 7 to 9.

They are read where the digits that are lost decide nothing: not which rows are one, not which of
them is newer. Nothing writes their tables: each merge would store the values without the digits.
"""

from collections.abc import Iterator, Mapping

from keyfold.errors import NotSupportedError
from keyfold.options.declared import TableOptions
from keyfold.options.names import FIELD, named_columns
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, name_of
from keyfold.types.paimon import is_cut, to_paimon
from keyfold.types.type_table import MICROS
from keyfold.wire.layout import Column, TableLayout

_DECIDING = {
    TableOptions.sequence_fields.name,
    TableOptions.version_column.name,
    TableOptions.bucket_key.name,
}
_GROUP = "sequence-group"
_FUNCTIONS = ("aggregate-function", "default-aggregate-function")


def check_cut_readable(layout: TableLayout) -> None:
    """Raises NotSupportedError if digits that are lost decide about rows or values."""
    for column, kind in _cut(layout):
        if why := _decides(layout, column):
            raise _refused(layout, column, kind, f"read here: {why}")


def check_cut_writable(layout: TableLayout) -> None:
    """Raises NotSupportedError if a column's values would be stored without their digits."""
    for column, kind in _cut(layout):
        raise _refused(layout, column, kind, "written here: its stored values would lose digits")


def _refused(layout: TableLayout, column: Column, kind: Atomic, why: str) -> NotSupportedError:
    shown = str(to_paimon(kind)).removesuffix(" NOT NULL")
    return NotSupportedError(
        f"table {layout.name} can't be {why}; column {column.name} holds {shown}, expected at most "
        f"{MICROS} digits, which Spark keeps"
    )


def _cut(layout: TableLayout) -> Iterator[tuple[Column, Atomic]]:
    for column in layout.columns:
        found = next(_within(column.type), None)
        if found is not None:
            yield column, found


def _within(kind: DataType) -> Iterator[Atomic]:
    match kind:
        case Array(element):
            yield from _within(element)
        case Map(key, value):
            yield from (*_within(key), *_within(value))
        case Row(fields):
            for field in fields:
                yield from _within(field.type)
        case Atomic() if is_cut(kind):
            yield kind


def _decides(layout: TableLayout, column: Column) -> str | None:
    """Words for what the lost digits decide; None if they decide nothing."""
    name, options = column.name, layout.options
    if name in layout.primary_key:
        return "keys that differ in the digits behind them would be one"
    if name in layout.partition_keys:
        return "partitions that differ in the digits behind them would be one"
    by = next((option for option in options if _orders(options, option, name)), None)
    if by is not None:
        return f"rows are told apart by the digits behind them, as its option {by} says"
    if _has_keys(column.type):
        return "keys of a MAP that differ in the digits behind them would be one"
    if name_of(column.type):
        return None
    folds = next((option for option in options if _folds(option, name)), None)
    return None if folds is None else f"its option {folds} may compare parts of values"


def _orders(options: Mapping[str, str], option: str, column: str) -> bool:
    """Whether the option says that records are told apart by the column: they, or the values of a
    group, are ordered by it, or buckets are found by it.
    """
    in_name, in_value = named_columns(option, options[option], options.get("merge-engine"))
    if option in _DECIDING:
        return column in in_value
    found = FIELD.match(option)
    return found is not None and found[2] == _GROUP and column in in_name


def _folds(option: str, column: str) -> bool:
    found = FIELD.match(option)
    if option == f"fields.{_FUNCTIONS[1]}":
        return True
    return found is not None and (found[1], found[2]) == (column, _FUNCTIONS[0])


def _has_keys(kind: DataType) -> bool:
    match kind:
        case Array(element):
            return _has_keys(element)
        case Map(key, value):
            return any(True for _ in _within(key)) or _has_keys(value)
        case Row(fields):
            return any(_has_keys(field.type) for field in fields)
    return False
