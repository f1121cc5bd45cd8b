"""A module of a user's: an engine with semantics of its own, and the options it brings."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from keyfold.errors import TableError
from keyfold.kernels.buffers import values
from keyfold.kernels.folds.picked import indices, take
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep
from keyfold.options.declared import TableOptions
from keyfold.options.option import Option
from keyfold.options.values import whole, word
from keyfold.wire.layout import TableLayout

TARGET = Option("closest.to", whole(-1000, 1000), "0", "The value rows are compared with.",
                changes="while empty")  # fmt: skip
COLUMN = Option("closest.column", word, "v", "The column whose value is compared.",
                changes="by ALTER", names_columns=True)  # fmt: skip


def _distance(options: TableOptions, found: Any) -> Any:
    return abs(found - options[TARGET])


def _fold(
    options: TableOptions, output: Sequence[str], step: MergeStep, drops_deletes: bool
) -> Folded:
    """Of each key the first row that is closest to the target."""
    far = _distance(options, values(step.columns[options[COLUMN]], np.int64))[step.order]
    least = np.minimum.reduceat(far, step.starts[:-1])
    at = np.where(far == np.repeat(least, np.diff(step.starts)), np.arange(len(far)), len(far))
    picks = step.order[np.minimum.reduceat(at, step.starts[:-1])]
    kinds = None if step.kinds is None else step.kinds[picks]
    return Folded([take(step.columns[name], indices(picks)) for name in output], kinds, step.last)


def _prepare(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Fold:
    return partial(_fold, options, tuple(output))


def _definition(
    layout: TableLayout, options: TableOptions, records: Sequence[tuple[int, dict[str, Any]]]
) -> tuple[int, dict[str, Any]]:
    return min(records, key=lambda record: _distance(options, record[1][options[COLUMN]]))


def _check(layout: TableLayout, options: TableOptions) -> None:
    if layout.column(options[COLUMN]).type.nullable:
        raise TableError(f"table {layout.name}: {COLUMN.name} must be NOT NULL")


CLOSEST = Engine(
    "closest",
    _check,
    _prepare,
    _definition,
    needs=lambda layout, options, output: (options[COLUMN],),
    options=(TARGET, COLUMN),
    elsewhere={"Doris": ("CLOSEST",)},
)
