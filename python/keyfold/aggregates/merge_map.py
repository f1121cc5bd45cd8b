"""merge_map: maps united, the later entry of a key wins (Paimon FieldMergeMapAgg).

A retraction removes its keys, whatever their values.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declare import Accepts, Fold, FoldResult, Inputs, Records
from keyfold.aggregates.nested import NO_LIMIT, elements_of, table_of
from keyfold.kernels.buffers import ones
from keyfold.kernels.codes import codes
from keyfold.kernels.entries import latest_by_key, places
from keyfold.kernels.ops import ADD, RESET, RETRACT


def _fold(inputs: Inputs) -> FoldResult:
    entries = inputs.column.values
    found, count = codes([inputs.column.keys])
    elements = elements_of(inputs)
    out, bounds, valid = elements.results
    ranks = np.zeros(len(entries), dtype=np.int64)
    used = ones(len(entries))
    latest_by_key(*elements.rows, found, ranks, used, NO_LIMIT, *places(count), out, bounds, valid)
    return FoldResult(
        table_of(inputs.column.type, bounds, valid, entries.take(pa.array(out[: bounds[-1]])))
    )


def definition(records: Records) -> Any:
    """The maps as dictionaries, one updated by the next; a list of (key, value) comes out."""
    if len(records) == 1:
        return records[0][1]
    result: dict[Any, Any] | None = None
    for op, entries in records:
        if op == RESET:
            result = None if entries is None else dict(entries)
        elif op == ADD and entries is not None:
            result = {**(result or {}), **dict(entries)}
        elif op == RETRACT and entries is not None and result is not None:
            result = {key: item for key, item in result.items() if key not in dict(entries)}
    return None if result is None else list(result.items())


MERGE_MAP = Fold(
    "merge_map",
    Accepts("'MAP'", types.is_map),
    definition,
    is_retractable=True,
    fold=_fold,
    summary="the maps united; of one key the later entry stays",
    nulls="a NULL map changes nothing, NULL values stay",
    retraction="removes the keys of the retracted map",
)
