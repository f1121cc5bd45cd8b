"""keyfold's aggregates as functions of PySpark's columns: `functions.listagg("t", delimiter=";")`.

The session has keyfold's jar and a catalog of the name `keyfold`. Neither pyspark nor numba is
loaded before a function is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column

_CATALOG = "keyfold"


def call(name: str, column: Column | str, *options: Any) -> Column:
    """An aggregate by its name: one of your own, registered by `keyfold.register`, or of keyfold.

    Args:
        name: Its name; with a dot in it, the name with that of a catalog: `lake.longest`.
        column: What it folds.
        options: Its options, in the order of their declaration; None is the default.
    """
    functions = import_module("pyspark.sql.functions")
    texts = [None if option is None else _text(option) for option in options]
    while texts and texts[-1] is None:
        texts.pop()
    full = name if "." in name else f"{_CATALOG}.{name}"
    found: Column = functions.call_function(full, column, *map(functions.lit, texts))
    return found


def _text(option: Any) -> str:
    """The option as tables spell it."""
    return str(option).lower() if isinstance(option, bool) else str(option)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


# Below this line: made of the declarations by `python -m integration.docs.pages`.

__all__ = [
    "bool_and",
    "bool_or",
    "call",
    "collect",
    "count",
    "first_non_null_value",
    "first_value",
    "hll_sketch",
    "last_non_null_value",
    "last_value",
    "listagg",
    "max",
    "merge_map",
    "merge_map_with_keytime",
    "min",
    "nested_partial_update",
    "nested_update",
    "product",
    "quantile_union",
    "rbm32",
    "rbm64",
    "sum",
    "theta_sketch",
]


def bool_and(column: Column | str) -> Column:
    """False if any value is. NULL: ignored.

    Args:
        column: BOOLEAN.
    """
    return call("bool_and", column)


def bool_or(column: Column | str) -> Column:
    """True if any value is. NULL: ignored.

    Args:
        column: BOOLEAN.
    """
    return call("bool_or", column)


def collect(column: Column | str, *, distinct: bool | None = None) -> Column:
    """The elements of the arrays in one array, `distinct` or not. NULL: a NULL array is ignored,
    NULL elements stay.

    Args:
        column: ARRAY.
        distinct: Whether each value is collected once. If it is None: 'false'.
    """
    return call("collect", column, distinct)


def count(column: Column | str) -> Column:
    """How many inputs were not NULL; a written value counts 1, whatever it is. NULL: count 0.

    Args:
        column: integers.
    """
    return call("count", column)


def first_non_null_value(column: Column | str) -> Column:
    """The first value that is not NULL. NULL: ignored.

    Args:
        column: any.
    """
    return call("first_non_null_value", column)


def first_value(column: Column | str) -> Column:
    """The first record's value. NULL: a first NULL stays.

    Args:
        column: any.
    """
    return call("first_value", column)


def hll_sketch(column: Column | str) -> Column:
    """Union of DataSketches HLL sketches. NULL: ignored; all NULL gives NULL.

    Args:
        column: BINARY.
    """
    return call("hll_sketch", column)


def last_non_null_value(column: Column | str) -> Column:
    """The last value that is not NULL; what a column without a function has. NULL: ignored.

    Args:
        column: any.
    """
    return call("last_non_null_value", column)


def last_value(column: Column | str) -> Column:
    """The last record's value. NULL: a last NULL stays.

    Args:
        column: any.
    """
    return call("last_value", column)


def listagg(
    column: Column | str,
    *,
    delimiter: str | None = None,
    distinct: bool | None = None,
    skip_blank: bool | None = None,
) -> Column:
    """The texts joined with a delimiter, `distinct` or not. NULL: NULL and blank texts are left
    out.

    Args:
        column: STRING.
        delimiter: The text between two joined texts. If it is None: ','.
        distinct: Whether each value is collected once. If it is None: 'false'.
        skip_blank: Whether listagg leaves out texts of whitespace alone; `fields.<column>.agg`,
            Fluss' name of `aggregate-function`, sets it to false. If it is None: 'true'.
    """
    return call("listagg", column, delimiter, distinct, skip_blank)


def max(column: Column | str) -> Column:
    """The greatest value; NaN is greater than any number, text and bytes compare as bytes. NULL:
    ignored.

    Args:
        column: all but ARRAY, MAP, STRUCT.
    """
    return call("max", column)


def merge_map(column: Column | str) -> Column:
    """The maps united; of one key the later entry stays. NULL: a NULL map changes nothing, NULL
    values stay.

    Args:
        column: MAP.
    """
    return call("merge_map", column)


def merge_map_with_keytime(column: Column | str, *, ts_field: str | None = None) -> Column:
    """The maps united; of one key the entry with the greatest time stays. NULL: a NULL map changes
    nothing, a NULL value removes its key, a NULL time is passed over.

    Args:
        column: MAP.
        ts_field: Field of the map's ROW that holds the time; the last.
    """
    return call("merge_map_with_keytime", column, ts_field)


def min(column: Column | str) -> Column:
    """The least value; NaN is greater than any number, text and bytes compare as bytes. NULL:
    ignored.

    Args:
        column: all but ARRAY, MAP, STRUCT.
    """
    return call("min", column)


def nested_partial_update(
    column: Column | str,
    *,
    nested_key: str | None = None,
    nested_key_null_strategy: str | None = None,
) -> Column:
    """A nested table: rows of one nested key are merged, field by field. NULL: a NULL array, row or
    field changes nothing.

    Args:
        column: ARRAY of STRUCT.
        nested_key: Fields that make a nested row's key; without them rows are added.
        nested_key_null_strategy: A NULL in the nested key is: a key like others (`merge`, if not
            set), a row to drop (`ignore`), an error (`error`).
    """
    return call("nested_partial_update", column, nested_key, nested_key_null_strategy)


def nested_update(
    column: Column | str,
    *,
    nested_key: str | None = None,
    nested_sequence_field: str | None = None,
    nested_key_null_strategy: str | None = None,
    count_limit: int | None = None,
) -> Column:
    """A nested table: rows are added, or with a nested key replaced by their key. NULL: a NULL
    array changes nothing, NULL rows are dropped.

    Args:
        column: ARRAY of STRUCT.
        nested_key: Fields that make a nested row's key; without them rows are added.
        nested_sequence_field: Fields that say which of two nested rows is newer.
        nested_key_null_strategy: A NULL in the nested key is: a key like others (`merge`, if not
            set), a row to drop (`ignore`), an error (`error`).
        count_limit: Most nested rows that are kept.
    """
    return call(
        "nested_update",
        column,
        nested_key,
        nested_sequence_field,
        nested_key_null_strategy,
        count_limit,
    )


def product(column: Column | str) -> Column:
    """The product; DECIMAL rounds half up at each step. NULL: ignored.

    Args:
        column: numbers.
    """
    return call("product", column)


def quantile_union(column: Column | str) -> Column:
    """Union of quantile states: exact up to 2048 values, then a t-digest. NULL: ignored; all NULL
    gives NULL.

    Args:
        column: BINARY.
    """
    return call("quantile_union", column)


def rbm32(column: Column | str) -> Column:
    """Union of 32-bit Roaring bitmaps. NULL: ignored; all NULL gives NULL.

    Args:
        column: BINARY.
    """
    return call("rbm32", column)


def rbm64(column: Column | str) -> Column:
    """Union of 64-bit Roaring bitmaps. NULL: ignored; all NULL gives NULL.

    Args:
        column: BINARY.
    """
    return call("rbm64", column)


def sum(column: Column | str) -> Column:
    """The sum; beyond the column's type the merge fails and says how to widen it. NULL: ignored.

    Args:
        column: numbers.
    """
    return call("sum", column)


def theta_sketch(column: Column | str) -> Column:
    """Union of DataSketches theta sketches. NULL: ignored; all NULL gives NULL.

    Args:
        column: BINARY.
    """
    return call("theta_sketch", column)
