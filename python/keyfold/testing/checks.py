"""`check`: whether a user's function suits a merge, on random data, its kernel included.

The same rows of a key are folded in any grouping: when they are written, compacted, read. So the
result must not depend on where groups are cut, and the compiled form must equal plain Python.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs
from keyfold.aggregates.results import column_result
from keyfold.errors import FunctionError
from keyfold.kernels.ops import ADD, RETRACT
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.testing.own import using
from keyfold.testing.random_types import logical_type, small_value
from keyfold.testing.tables import batch, cells, layout, records
from keyfold.types import arrow as arrow_types
from keyfold.types.logical import with_nullability
from keyfold.types.paimon import to_paimon
from keyfold.user_functions import failing, fold, shapes, shipping, user_engine
from keyfold.user_functions.decorators import aggregate_of
from keyfold.user_functions.user_function import UserFunction

Values = Callable[[Random], Any]
_TRIED = ("BIGINT", "DOUBLE", "STRING")


class CheckError(AssertionError):
    """A function does not suit a merge; the text has the values that show it."""


def check(
    function: UserFunction,
    values: Values | None = None,
    *,
    types: str | Mapping[str, str] | Sequence[str | Mapping[str, str]] = _TRIED,
    rounds: int = 200,
    seed: int = 0,
) -> None:
    """Try on random data that the compiled function equals plain Python, that any grouping folds to
    the same, and any order if it says so, that the identity changes nothing and that a retraction
    takes back the added value. Floats may differ by rounding. Values whose result leaves the
    column's type, which a table refuses, are left out.

    Args:
        function: A result of `keyfold.aggregate` or `keyfold.engine`.
        values: `values(random)` makes one value, for functions that take only some; for an engine a
            dict of its columns.
        types: SQL names to try a combine or gather with; an ARRAY<…> of one or a dict of them for a
            STRUCT too.
        rounds: The number of lists of values to try for each type.
        seed: The seed of the random data.

    Raises:
        CheckError: It differs; the message has the values that show it.
        FunctionError: It does not compile.
    """
    if not isinstance(function, UserFunction):
        raise FunctionError(
            "keyfold.testing.check takes functions that keyfold.aggregate or keyfold.engine "
            f"decorates, found {function!r}"
        )
    shipping.loads(shipping.dumps(function))
    if function.form == "engine":
        _check_engine(function, values, Random(seed), rounds)
        return
    tried = types if function.types is None else function.types
    for kind in [tried] if isinstance(tried, str | Mapping) else tried:
        _Trial(function, kind, values, Random(seed)).run(rounds)


class _LeavesTypeError(Exception):
    """A result does not fit the column's type."""


class _Trial:
    """One aggregate for one type, and the random values it is tried with."""

    def __init__(
        self,
        own: UserFunction,
        kind: str | Mapping[str, str],
        values: Values | None,
        random: Random,
    ) -> None:
        self.own, self.random = own, random
        logical = logical_type(kind)
        self.arrow = arrow_types.to_arrow(logical)
        declared = aggregate_of(own)
        assert declared.bind is not None
        self.bound: Aggregate = declared.bind({}, logical)
        self.value = values or (lambda random: small_value(kind, random))

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            drawn = [self._drawn() for _ in range(self.random.randrange(1, 8))]
            with suppress(_LeavesTypeError):
                self._try(drawn)

    def _drawn(self) -> Any:
        return None if self.random.random() < 0.1 else self.value(self.random)

    def _try(self, drawn: list[Any]) -> None:
        whole, cut = self.folded(drawn), self.random.randrange(len(drawn) + 1)
        left = [self.folded(drawn[:cut])] if cut else []
        right = [self.folded(drawn[cut:])] if cut < len(drawn) else []
        what = "folded at once that is {}, but {} with the"
        ways = {
            "compiled it gives {}, plain Python {}": self._defined(drawn),
            f"{what} first {cut} folded before": self.folded(left + drawn[cut:]),
            f"{what} rest after {cut} folded before": self.folded(drawn[:cut] + right),
        }
        if self.own.in_any_order:
            mixed = self.random.sample(drawn, len(drawn))
            ways["in that order it is {}, but {} in another"] = self.folded(mixed)
        last = drawn[-1]
        if self.own.retract is not None and last is not None:
            words = "adding the last once more and taking it back changes {} to {}"
            ways[words] = self.folded([*drawn, last, last], retracts=1)
        for words, found in ways.items():
            self._same(whole, found, drawn, words)
        if self.own.retract is not None and last is not None and self.own.form == "fold":
            form = shapes.shape(self.own.types or (), self.arrow, self.own.sees_nulls)
            made = self.own(self.own.started(form), shapes.seen(form, last))
            found = shapes.given(form, self.arrow, made)
            self._same(last, found, [last], "it is {}, but from the identity it becomes {}")

    def folded(self, drawn: Sequence[Any], retracts: int = 0) -> Any:
        """The result of merging one key's values, the last of which are retracted."""
        ops = [ADD] * (len(drawn) - retracts) + [RETRACT] * retracts
        rows = np.arange(len(drawn), dtype=np.int64)
        starts = np.array([0, len(drawn)], dtype=np.int64)
        inputs = Inputs(pa.array(drawn, self.arrow), np.array(ops, np.int8), rows, starts)
        try:
            result = column_result(self.bound, inputs)
        except BadRecord as error:
            raise CheckError(str(error)) from error
        if result.overflowed >= 0:
            raise _LeavesTypeError
        return cells(result.array)[0]

    def _defined(self, drawn: Sequence[Any]) -> Any:
        if self.own.form in ("combine", "gather") and len(drawn) == 1:
            return drawn[0]
        column = cells(pa.array(drawn, self.arrow))
        try:
            return self.bound.definition([(ADD, one) for one in column])
        except failing.StepError as error:
            raise CheckError(str(error)) from error

    def _same(self, left: Any, right: Any, drawn: Sequence[Any], words: str) -> None:
        if not close(left, right):
            found = words.format(shown(left), shown(right))
            raise CheckError(f"{self.own}, values {' | '.join(map(shown, drawn))}: {found}")


def shown(value: Any) -> str:
    """A value in a message; NULL for None."""
    return "NULL" if value is None else repr(value)


def close(left: Any, right: Any) -> bool:
    """Whether two values are equal except for rounding."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(left[k], right[k]) for k in left)
    if isinstance(left, float | np.floating) and isinstance(right, float | int | np.floating):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        width = 1e-4 if isinstance(left, np.float32) else 1e-9
        return math.isclose(left, right, rel_tol=width, abs_tol=width)
    return bool(left == right)


def _check_engine(own: UserFunction, values: Values | None, random: Random, rounds: int) -> None:
    """Compare merges of one key's rows: at once, in two parts, and by plain Python."""
    kinds = {name: shapes.of_column(kind) for name, kind in own.columns.items()}
    columns = {
        name: to_paimon(with_nullability(logical_type(scalar.name), may_be_null))
        for name, (scalar, may_be_null) in kinds.items()
    }
    table = layout({"key": "INT", "row": "INT", **columns}, ["key"], {"merge-engine": own.name})

    def drawn(number: int) -> dict[str, Any]:
        made = {name: small_value(scalar.name, random) for name, (scalar, _) in kinds.items()}
        nulls = [n for n, (_, may_be) in kinds.items() if may_be and random.random() < 0.1]
        made |= dict.fromkeys(nulls)
        return {"key": 1, "row": number, **(made if values is None else values(random))}

    def merged(some: list[dict[str, Any]]) -> dict[str, Any]:
        found = fold_unsorted(
            plan_merge(table, table.arrow_schema.names), [batch(table, [(0, r) for r in some])]
        )
        return records(found)[0][1]

    form = user_engine.form_of(own, table)
    with using(own):
        for _ in range(rounds):
            some = [drawn(number) for number in range(random.randrange(2, 7))]
            cut, whole = random.randrange(1, len(some)), merged(some)
            ways = {
                "plain Python": some[fold.picked(own, form, [(ADD, row) for row in some]) or 0],
                f"the first {cut} merged before": merged([merged(some[:cut]), *some[cut:]]),
                f"the rest after {cut} merged before": merged([*some[:cut], merged(some[cut:])]),
            }
            for way, found in ways.items():
                if found["row"] != whole["row"]:
                    drawn_rows = " | ".join(str({n: r[n] for n in own.columns}) for r in some)
                    raise CheckError(
                        f"{own}, rows {drawn_rows}: at once row {whole['row'] + 1} is kept, "
                        f"by {way} row {found['row'] + 1}"
                    )
