"""An example of each aggregate function: the values of one key, and what a table folds them to."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from datasketches import hll_sketch, update_theta_sketch
from pyroaring import BitMap, BitMap64

import keyfold
from keyfold.aggregates.quantile_union import opened, written
from keyfold.aggregates.sketches import opened_hll, opened_theta
from keyfold.kernels.roaring.bitmaps import read32, read64, write32, write64

NESTED = "ARRAY<STRUCT<k: INT, v: STRING, w: STRING>>"
NESTED_ROWS = (
    [{"k": 1, "v": "a", "w": None}],
    [{"k": 1, "v": None, "w": "b"}],
    [{"k": 2, "v": "c", "w": None}],
)


def _literal(value: Any) -> str:
    """A value, as a reader of SQL's results knows it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(_literal(part) for part in value.values()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return "{" + ", ".join(f"{key}: {_literal(part)}" for key, part in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _numbers(found: Iterable[Any]) -> str:
    return "{" + ", ".join(f"{number:g}" for number in sorted(found)) + "}"


def _hll(*texts: str) -> bytes:
    sketch = hll_sketch(12)
    for text in texts:
        sketch.update(text)
    return bytes(sketch.serialize_compact())


def _theta(*texts: str) -> bytes:
    sketch = update_theta_sketch()
    for text in texts:
        sketch.update(text)
    return bytes(sketch.compact().serialize())


def _quantiles(*values: float) -> bytes:
    return written(2048, np.array(values, dtype=np.float64))


def _estimate(sketch: Any) -> str:
    count = round(sketch.get_estimate())
    return f"sketch of {count} value{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Example:
    """The values of a column of this type, in three rows of one key."""

    kind: str
    values: tuple[Any, Any, Any]
    options: Mapping[str, str] = field(default_factory=dict)
    shown: Callable[[Any], str] = _literal


EXAMPLES = {
    "bool_and": Example("BOOLEAN", (True, None, False)),
    "bool_or": Example("BOOLEAN", (True, None, False)),
    "collect": Example("ARRAY<INT>", ([1, 2], None, [2, 3])),
    "count": Example("BIGINT", (7, None, 9)),
    "first_non_null_value": Example("STRING", (None, "a", "b")),
    "first_value": Example("STRING", (None, "a", "b")),
    "hll_sketch": Example(
        "BINARY",
        (_hll("a"), _hll("a", "b"), _hll("c")),
        shown=lambda state: _estimate(opened_hll(state)),
    ),
    "last_non_null_value": Example("STRING", ("a", "b", None)),
    "last_value": Example("STRING", ("a", "b", None)),
    "listagg": Example("STRING", ("a", None, "b")),
    "max": Example("INT", (5, None, 8)),
    "merge_map": Example("MAP<STRING, INT>", ([("a", 1)], [("a", 2), ("b", 3)], [("c", None)])),
    "merge_map_with_keytime": Example(
        "MAP<STRING, STRUCT<v: INT, at: STRING>>",
        (
            [("a", {"v": 1, "at": "09:30"})],
            [("a", {"v": 2, "at": "09:10"})],
            [("b", {"v": 3, "at": "09:20"})],
        ),
        {"ts-field": "at"},
    ),
    "min": Example("INT", (5, None, 8)),
    "nested_partial_update": Example(
        NESTED,
        NESTED_ROWS,
        {"nested-key": "k"},
    ),
    "nested_update": Example(
        NESTED,
        NESTED_ROWS,
        {"nested-key": "k"},
    ),
    "product": Example("INT", (2, None, 3)),
    "quantile_union": Example(
        "BINARY",
        (_quantiles(1.0), _quantiles(5.0), _quantiles(2.5)),
        shown=lambda state: "state of " + _numbers(opened(state).values),
    ),
    "rbm32": Example(
        "BINARY",
        (write32(BitMap([1, 2])), None, write32(BitMap([2, 3]))),
        shown=lambda state: "NULL" if state is None else "bitmap " + _numbers(read32(state)),
    ),
    "rbm64": Example(
        "BINARY",
        (write64(BitMap64([1, 2])), None, write64(BitMap64([2, 3]))),
        shown=lambda state: "NULL" if state is None else "bitmap " + _numbers(read64(state)),
    ),
    "sum": Example("INT", (5, None, 8)),
    "theta_sketch": Example(
        "BINARY",
        (_theta("a"), _theta("a", "b"), _theta("c")),
        shown=lambda state: _estimate(opened_theta(state)),
    ),
}


@cache
def folded() -> Mapping[str, Any]:
    """What one table with a column for each function holds after three upserts of one row."""
    options = {"merge-engine": "aggregation"}
    for name, one in EXAMPLES.items():
        options[f"fields.{name}.aggregate-function"] = name
        options |= {f"fields.{name}.{option}": said for option, said in one.options.items()}
    kinds = {"id": "INT", **{name: one.kind for name, one in EXAMPLES.items()}}
    with tempfile.TemporaryDirectory() as folder:
        catalog = keyfold.connect(folder)
        table = catalog.create_table("examples", kinds, primary_key=["id"], options=options)
        for place in range(3):
            row = {name: one.values[place] for name, one in EXAMPLES.items()}
            table.upsert([{"id": 1, **row}])
        found = table.get({"id": 1})
    assert found is not None
    return found


def shown(name: str) -> str:
    """The values and the result; the function that has no values of its own has no example."""
    if name not in EXAMPLES:
        return ""
    one = EXAMPLES[name]
    given = ", ".join(map(one.shown, one.values))
    return f"{given} → {one.shown(folded()[name])}"
