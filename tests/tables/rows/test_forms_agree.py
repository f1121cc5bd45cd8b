"""Random values of all types: each form of rows stores what the definition says, or is refused."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.conversions.unfit import Given, Unfit
from keyfold.tables.rows.frames import of_pandas
from keyfold.types.logical import DataType
from tests.draws import times
from tests.stored_values import TYPES, Refused, column, shown, stored


def forms(values: list[Any]) -> Iterator[Given]:
    """The values in the forms that have them, each as a column."""
    yield values
    yield [tuple(value) if isinstance(value, list) else value for value in values]
    has_nan = any(value != value for value in values)  # which pandas takes for missing
    if not has_nan:
        yield of_frame(pd.Series(values, dtype=object))
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError):  # numbers beyond 64 bits
        return
    yield array
    yield pa.concat_arrays([array, array]).slice(len(array))
    if not pa.types.is_nested(array.type):
        yield array.dictionary_encode()
        yield pc.run_end_encode(array)
        if not has_nan and not (array.null_count and pa.types.is_integer(array.type)):
            yield of_frame(array.to_pandas())
    if not pa.types.is_decimal256(array.type):
        yield pl.Series(array).to_arrow()
    yield of_frame(pd.Series(array, dtype=pd.ArrowDtype(array.type)))


def of_frame(column: Any) -> Given:
    return of_pandas(pd.DataFrame({"v": column}), bool)[1][0]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind[0])
def test_all_forms_store_what_the_definition_says(kind: tuple[str, DataType], seed: int) -> None:
    random = Random(f"{seed} {kind[0]}")
    for _ in range(times(2)):
        check_forms(kind[1], column(kind[1], random.randrange(7), random))


def check_forms(kind: DataType, values: list[Any]) -> None:
    try:
        wanted: Any = [stored(value, kind) for value in values]
    except Refused:
        wanted = "refused"
    for form in forms(values):
        try:
            found = converted(form, kind, "v").to_pylist()
        except Unfit:
            found = "refused"
        assert shown(found) == shown(wanted), (values, form)
