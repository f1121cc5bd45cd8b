"""Every built-in aggregate alone, in memory, one core: `python -m integration.bench.aggregates`.

Steps of 262,144 rows, as merges make them, four rows a group: once in order, once as four sorted
runs of one key range give them, once at random. Figures are rows per second, kernels compiled, the
best of several turns: what else the machine does can only slow a turn. Bitmaps and sketches are
measured by `integration.bench.states`. Writes docs/kernels.md and docs/kernels.svg.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from integration.bench import states
from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate, Inputs
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.opaque import BYTES
from keyfold.kernels import jit
from keyfold.kernels.ops import ADD
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType
from keyfold.types.paimon import from_paimon

ROWS, GROUP = 1 << 18, 4
TURNS, SECONDS = 7, 0.4
DOCS = Path(__file__).resolve().parents[2] / "docs"
ORDERS = ("in order", "from 4 runs", "at random")
TEXT, ROW = "STRING", {"type": "ROW", "fields": []}
ROW["fields"] = [{"id": 1, "name": "a", "type": "BIGINT"}, {"id": 2, "name": "t", "type": TEXT}]
NUMBERS = ("BIGINT", "INT", "DOUBLE", "DECIMAL(18, 2)")
ARRAYS = ({"type": "ARRAY", "element": "BIGINT"}, {"type": "ARRAY", "element": TEXT})
MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "BIGINT"}
TIMES = {"type": "MAP", "key": "STRING NOT NULL", "value": ROW}
NESTED = {"type": "ARRAY", "element": ROW}
ONCE = {"distinct": "true"}
KEYED = {"nested-key": "a"}
# What is measured of each aggregate: types, and settings. Any other is measured on what it accepts.
MEASURED: dict[str, list[tuple[Any, dict[str, str]]]] = {
    "agg_state": [],  # bytes of any function
    "sum": [(kind, {}) for kind in NUMBERS],
    "product": [(kind, {}) for kind in NUMBERS],
    "max": [(kind, {}) for kind in (*NUMBERS, TEXT)],
    "min": [("BIGINT", {}), (TEXT, {})],
    "last_value": [("BIGINT", {}), (TEXT, {})],
    "last_non_null_value": [("BIGINT", {}), (TEXT, {})],
    "first_value": [("BIGINT", {}), (TEXT, {})],
    "first_non_null_value": [("BIGINT", {}), (TEXT, {})],
    "count": [("BIGINT", {})],
    "listagg": [(TEXT, {}), (TEXT, ONCE)],
    "collect": [(kind, options) for kind in ARRAYS for options in ({}, ONCE)],
    "merge_map": [(MAP, {})],
    "merge_map_with_keytime": [(TIMES, {})],
    "nested_update": [(NESTED, {}), (NESTED, KEYED)],
    "nested_partial_update": [(NESTED, KEYED)],
}


@dataclass(frozen=True)
class Figure:
    """Rows per second of one aggregate on one type, in each of `ORDERS`."""

    name: str
    kind: str
    rates: tuple[float, ...]


def orders(count: int) -> list[np.ndarray]:
    """The orders in which a step's rows stand, as `ORDERS` names them."""
    rows = np.arange(count, dtype=np.int64)
    runs = np.ascontiguousarray(rows.reshape(GROUP, -1).T.reshape(-1))
    return [rows, runs, np.random.default_rng(2).permutation(count)]


def column(kind: pa.DataType, rows: int = ROWS) -> pa.Array:
    """Random values without nulls; lists and maps have two elements."""
    random = np.random.default_rng(1)
    numbers = pa.array(random.integers(1, 90, rows))
    if pa.types.is_boolean(kind):
        return pa.array(random.random(rows) < 0.5)
    if pa.types.is_string(kind):
        return pa.array([f"{n:010d}" for n in random.integers(0, 10**9, rows).tolist()])
    if pa.types.is_floating(kind):
        return pa.array(random.random(rows), kind)
    if pa.types.is_decimal(kind):
        return numbers.cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, kind.scale)).cast(kind)
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(
            [column(field.type, rows) for field in kind], fields=list(kind)
        )
    if pa.types.is_nested(kind):
        offsets = pa.array(np.arange(0, 2 * rows + 1, 2, dtype=np.int32))
        if pa.types.is_list(kind):
            return pa.ListArray.from_arrays(offsets, column(kind.value_type, 2 * rows))
        keys = pa.array([("left", "right")[at % 2] for at in range(2 * rows)])
        return pa.MapArray.from_arrays(offsets, keys, column(kind.item_type, 2 * rows))
    return numbers.cast(kind)


def best(work: Callable[[], object]) -> float:
    """The shortest of several turns, in seconds."""
    work()
    begun, times = time.perf_counter(), []
    while len(times) < TURNS or time.perf_counter() - begun < SECONDS:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def rates(aggregate: Aggregate, values: pa.Array) -> tuple[float, ...]:
    """Rows per second in each order."""
    rows = len(values)
    ops = np.full(rows, ADD, dtype=np.int8)
    starts = np.arange(0, rows + 1, GROUP, dtype=np.int64)
    found = []
    for order in orders(rows):
        inputs = Inputs(values, ops, order, starts)
        seconds = best(partial(column_result, aggregate, inputs))
        found.append(rows / seconds)
    return tuple(found)


def settled(aggregate: Aggregate, kind: DataType, options: dict[str, str]) -> Aggregate:
    """The aggregate with these settings and defaults."""
    texts = {p.name: options.get(p.name, p.default) for p in aggregate.parameters}
    parsed = {
        p.name: None if texts[p.name] is None else p.parse(texts[p.name])
        for p in aggregate.parameters
    }
    return aggregate if aggregate.bind is None else aggregate.bind(parsed, kind)


def figures(only: set[str]) -> Iterator[Figure]:
    """Every aggregate in turn, but those of opaque states."""
    for aggregate in sorted(dict.fromkeys(aggregates().values()), key=lambda found: found.name):
        if aggregate.accepts is BYTES or (only and aggregate.name not in only):
            continue
        default = [("BOOLEAN" if aggregate.accepts.words == "'BooleanType'" else "BIGINT", {})]
        for json, options in MEASURED.get(aggregate.name, default):
            kind = from_paimon(json)
            words = name_of(json) + "".join(f", {option}" for option in options)
            bound = settled(aggregate, kind, options)
            yield Figure(aggregate.name, words, rates(bound, column(to_arrow(kind))))


def name_of(json: Any) -> str:
    """A short name of a type."""
    if isinstance(json, str):
        return json.removesuffix(" NOT NULL")
    if json["type"] == "ROW":
        return "ROW"
    parts = [name_of(json[part]) for part in ("element", "key", "value") if part in json]
    return f"{json['type']}<{', '.join(parts)}>"


def markdown(found: list[Figure], opaque: list[states.Rate]) -> str:
    """The page: a table of rows, a table of states."""
    lines = [
        "# Speed of the aggregates",
        "",
        "`make bench-kernels` writes this page. The figures are millions of rows per second on one "
        f"core ({platform.machine()}) with compiled kernels: steps of {ROWS:,} rows, four rows in "
        "each group, texts of 10 characters, arrays and maps of two elements. The rows of a group "
        "are neighbours, or a run's length apart as in a merge of four runs, or anywhere.",
        "",
        "![Rows per second of each aggregate](kernels.svg)",
        "",
        f"| function | type | {' | '.join(ORDERS)} |",
        "|---|---|---|---|---|",
    ]
    for figure in found:
        cells = [millions(rate) for rate in figure.rates]
        lines.append(f"| `{figure.name}` | `{figure.kind}` | {' | '.join(cells)} |")
    lines += [
        "",
        "Bitmaps and sketches, four states in each group. The last column compares with a plain "
        "Python loop that opens and unites one pair after the other with the same library:",
        "",
        "| function, numbers in a state | bytes of a state | states per second "
        "| to the plain loop |",
        "|---|---|---|---|",
    ]
    for rate in opaque:
        ratio = rate.ours / rate.plain
        lines.append(f"| {rate.name} | {rate.bytes:,.0f} | {rate.ours:,.0f} | {ratio:.2f} |")
    return "\n".join([*lines, ""])


def millions(rate: float) -> str:
    """A rate in millions, with two or three digits."""
    number = rate / 1e6
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:.0f}"


def chart(found: list[Figure]) -> str:
    """Horizontal bars on a logarithmic scale from 10,000 to 10 thousand million rows per second."""
    left, wide, high, head = 330, 420, 18, 40
    height = head + high * len(found) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 70}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="14">'
        "rows per second on one core, as a merge of four runs has them (logarithmic)</text>",
    ]
    for power in range(4, 11):
        x = left + wide * (power - 4) / 6
        parts.append(
            f'<line x1="{x:.0f}" y1="{head - 8}" x2="{x:.0f}" y2="{height - 8}" stroke="#ddd"/>'
            f'<text x="{x:.0f}" y="{head - 12}" text-anchor="middle" fill="#777">'
            f"{('10 k', '100 k', '1 M', '10 M', '100 M', '1 G', '10 G')[power - 4]}</text>"
        )
    for at, figure in enumerate(found):
        y = head + high * at
        length = max(1.0, wide * (np.log10(figure.rates[1]) - 4) / 6)
        kind = figure.kind.replace("<", "&lt;").replace(">", "&gt;")
        parts.append(
            f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{figure.name} {kind}</text>'
            f'<rect x="{left}" y="{y + 2}" width="{length:.0f}" height="{high - 5}" '
            f'fill="#4477aa"/><text x="{left + length + 4:.0f}" y="{y + 12}">'
            f"{millions(figure.rates[1])} M</text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure, print, write the page and the chart."""
    parser = argparse.ArgumentParser(prog="python -m integration.bench.aggregates")
    parser.add_argument("--only", default="", help="names, comma between; writes no page")
    only = {name for name in parser.parse_args().only.split(",") if name}
    jit.warm()
    found = []
    for figure in figures(only):
        found.append(figure)
        cells = " ".join(f"{millions(rate):>8}" for rate in figure.rates)
        print(f"{figure.name:24} {figure.kind:32} {cells}", flush=True)
    if not only:
        DOCS.mkdir(exist_ok=True)
        (DOCS / "kernels.md").write_text(markdown(found, list(states.rates())), encoding="utf-8")
        (DOCS / "kernels.svg").write_text(chart(found), encoding="utf-8")


if __name__ == "__main__":
    main()
