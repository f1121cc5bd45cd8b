"""Users' functions outside Spark: found by name, merged from rows as text, timed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate, Inputs
from keyfold.aggregates.results import column_result
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options import provided
from keyfold.testing.random_types import logical_type, small_value
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.types import arrow as arrow_types
from keyfold.user_functions import shipping
from keyfold.user_functions.decorators import aggregate_of
from keyfold.user_functions.shapes import NUMBERS
from keyfold.user_functions.sources import Sources
from keyfold.user_functions.user_function import UserFunction

ROUNDS = 5


@contextmanager
def using(*functions: UserFunction) -> Iterator[None]:
    """Within its block, find these functions by name, as a session that registered them does."""
    code = {one.name: shipping.dumps(one) for one in functions}
    with provided.by(Sources(registered=code)):
        yield


def merged(
    columns: Mapping[str, str],
    options: Mapping[str, str],
    *jobs: str,
    functions: Sequence[UserFunction] = (),
) -> str:
    """The rows, as text, of a table after these jobs, by keyfold's own merge.

    Args:
        columns: Names and types (INT, BIGINT, DOUBLE, BOOLEAN, STRING); the first is the key.
        options: The table's options.
        jobs: The rows of each job as text, `+I 1 a | -D 2 null`: a kind, then a word a column.
        functions: Functions of your own that the options name.
    """
    with using(*functions):
        table = layout(columns, [next(iter(columns))], options)
        whole = plan_merge(table, list(columns))
        runs = [fold_unsorted(whole, [batch(table, parse(table, job))]) for job in jobs]
        sorted_runs = [SortedRun(iter(run), (n, n)) for n, run in enumerate(runs)]
        return render(records(list(merge_runs(whole, sorted_runs))))


@dataclass(frozen=True)
class Figure:
    """Rows per second on one core, of a function and of the built-in one compared with it."""

    function: str
    type: str
    rows: float
    built_in: str
    built_in_rows: float

    @property
    def ratio(self) -> float:
        """The function's speed divided by the built-in's."""
        return self.rows / self.built_in_rows

    def __str__(self) -> str:
        own, other = self.rows / 1e6, self.built_in_rows / 1e6
        return (
            f"{self.function} over {self.type}: {own:.1f} M rows/s, "
            f"{self.built_in} {other:.1f} M rows/s, ratio {self.ratio:.2f}"
        )


def bench(function: UserFunction, *, rows: int = 1_000_000, group: int = 4) -> list[Figure]:
    """Time a fold or pick on `rows` rows, `group` a key, for each of its types, beside the built-in
    `sum` (of BIGINT if the type can't be added) or `max`. Prints and returns the figures, in rows a
    second on one core. Raises ValueError if the function is not a fold or pick.
    """
    if function.form not in ("fold", "pick"):
        raise ValueError(f"{function}: a fold or a pick can be timed alone")
    declared, figures = function.types or (), []
    other = "sum" if function.form == "fold" else "max"
    for kind in [declared] if isinstance(declared, dict) else declared:
        compared = kind if other == "max" or kind in NUMBERS else "BIGINT"
        own = _rate(aggregate_of(function), kind, rows, group)
        built_in = _rate(aggregates()[other], compared, rows, group)
        figures.append(Figure(function.name, str(kind), own, f"{other} of {compared}", built_in))
        print(figures[-1])
    return figures


def _rate(declared: Aggregate, kind: str | dict[str, str], rows: int, group: int) -> float:
    logical = logical_type(kind)
    bound = declared if declared.bind is None else declared.bind({}, logical)
    random = Random(0)
    some = [small_value(kind, random) for _ in range(1000)]
    column = pa.array(some, arrow_types.to_arrow(logical)).take(pa.array(np.arange(rows) % 1000))
    starts = np.append(np.arange(0, rows, group), rows).astype(np.int64)
    inputs = Inputs(column, np.ones(rows, np.int8), np.arange(rows, dtype=np.int64), starts)
    return rows / min(_seconds(lambda: column_result(bound, inputs)) for _ in range(ROUNDS))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
