"""Groups of calls over aggregate states: `x_merge`, `x_union`, `x_combine` and `x_finalize`.

Headers are taken off and put on here; another fold has what is behind them. That is the fold of a
function itself, whose states are its values as they are between tasks. Of functions of Spark whose
buffer is a bag or a sketch it is the union of these, and the constants of each group are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import BadRecord
from keyfold.aggregates.states import headers
from keyfold.aggregates.states.bound_signatures import parse
from keyfold.aggregates.states.signature import Signature, described, header_of, text_of
from keyfold.aggregates.states.spark_types import BIGINT, BINARY, DOUBLE, STRING
from keyfold.aggregates.states.state import StateFunction
from keyfold.errors import CorruptDataError, TableError
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.bitmap_algebra import AlgebraCall
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.quantiles import QuantileCall
from keyfold.group_by.sets import SetCall
from keyfold.group_by.state_results import RESULTS
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.lazy import cached_property
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, DataType

_RESULTS = {
    "join": STRING,
    "percentile": DOUBLE,
    "quantile_percent": DOUBLE,
    "hll_cardinality": BIGINT,
    "bitmap_count": BIGINT,
}
Held = BoundCall | SetCall | QuantileCall


class Folds(Protocol):
    """The groups of a call; see `accumulate.Accumulated`."""

    call: Any

    @property
    def held(self) -> int:
        """The bytes that all take at most."""

    @property
    def keeps_rows(self) -> bool:
        """Whether columns that are added stay in use."""

    def clear(self) -> None:
        """Forget all groups."""

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value to each of these groups."""

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """Add states of other tasks to these groups."""

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The states of these groups as bytes, in pieces."""

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups."""


@dataclass(frozen=True)
class StateCall:
    """A call over states of a signature by the name that was written. Its rows are states if it
    `takes` them, its results if it `gives` them. `fold` is that of a function with states of its
    own; None of a bag or a sketch.
    """

    name: str
    signature: str
    takes: bool
    gives: bool
    fold: BoundCall | None = None

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> StateCall:
        """From the JVM's JSON."""
        fold = BoundCall.from_json(found["fold"]) if found.get("fold") else None
        return StateCall(found["name"], found["signature"], found["takes"], found["gives"], fold)

    @cached_property
    def bound(self) -> Signature:
        """The signature of a bag or a sketch."""
        return parse(self.signature)

    @cached_property
    def held(self) -> Held:
        """The call that folds what is behind the headers."""
        return self.fold or _united(self.bound, self.gives)

    @property
    def type(self) -> DataType:
        """The type of its results."""
        if self.gives:
            return BINARY
        if self.fold is not None:
            return self.fold.type
        field, finishes = self.bound.fields[0], self.bound.function.finishes
        if finishes == "mode":
            assert isinstance(field, Array)
            return field.element
        return _RESULTS.get(finishes, field)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of its results."""
        return to_arrow(self.type)


def _united(signature: Signature, gives: bool) -> Held:
    function, (field,) = signature.function, signature.fields
    if function.kind == "bag":
        return BoundCall("collect", field, {"distinct": "true"} if function.unites == "set" else {})
    return _sketch(function, counts=not gives and function.finishes not in ("", "quantile_percent"))


def _sketch(function: StateFunction, counts: bool) -> Held:
    match function.unites:
        case "quantile_union":
            return QuantileCall("quantile_union")
        case "hll_union":
            return SetCall("hll_union_agg" if counts else "hll_union", "sketches")
        case "bitmap_union":
            return SetCall("bitmap_union_count" if counts else "bitmap_union", "bitmaps")
        case other:
            return AlgebraCall.named(other)


class FoldStates:
    """The groups of a function with states of its own."""

    def __init__(self, call: StateCall, inner: Folds) -> None:
        self.call, self._inner = call, inner
        self._header = header_of(call.signature)

    @property
    def keeps_rows(self) -> bool:
        """See `Folds.keeps_rows`: what is behind a header was copied."""
        return self._inner.keeps_rows and not self.call.takes

    @property
    def held(self) -> int:
        """See `Folds.held`."""
        return self._inner.held

    def clear(self) -> None:
        """See `Folds.clear`."""
        self._inner.clear()

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value or state to each of these groups. A NULL is not a state."""
        if not self.call.takes:
            self._inner.add(groups, column)
            return
        groups, _, buffers = split(self.call, groups, column)
        has_row = pc.greater(pc.binary_length(buffers), 0)
        self._inner.merge(_where(groups, has_row), buffers.filter(has_row))

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """See `Folds.merge`."""
        self._inner.merge(groups, states)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """See `Folds.states`."""
        return self._inner.states(start, stop)

    def values(self, start: int, stop: int) -> pa.Array:
        """See `Folds.values`; the state of no rows is a header."""
        if not self.call.gives:
            return self._inner.values(start, stop)
        pieces = [piece.cast(pa.large_binary()) for piece in self._inner.states(start, stop)]
        buffers = pc.fill_null(pa.chunked_array(pieces, pa.large_binary()).combine_chunks(), b"")
        return headed([self._header] * len(buffers), buffers)


class KeptStates:
    """The groups of a function whose states are bags or sketches, with their constants."""

    keeps_rows = False

    def __init__(self, call: StateCall, inner: Folds) -> None:
        self.call, self._inner = call, inner
        self._type = to_arrow(call.bound.fields[0])
        self._constants = Constants(call)

    @property
    def held(self) -> int:
        """See `Folds.held`."""
        return self._inner.held + self._constants.held

    def clear(self) -> None:
        """See `Folds.clear`."""
        self._inner.clear()
        self._constants.clear()

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a state to each of these groups. A NULL is not a state."""
        groups, heads, buffers = split(self.call, groups, column)
        if len(groups):
            try:
                (field,) = decode(buffers, [self._type])
            except CorruptDataError as error:
                raise CorruptDataError(f"{self.call.name}, a state: {error}") from error
            self._constants.add(groups, heads, headers.amounts(field) > 0)
            self._inner.add(groups, field)

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """See `Folds.merge`."""
        groups, states = _where(groups, states.is_valid()), states.drop_null()
        heads, is_bound, inner = decode(states, [pa.binary(), pa.bool_(), pa.binary()])
        known = heads.is_valid()
        bound = is_bound.filter(known).to_numpy(zero_copy_only=False)
        self._constants.add(_where(groups, known), heads.drop_null(), bound)
        self._inner.merge(groups, inner)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """See `Folds.states`: the header of a group and what is behind it."""
        for piece in self._inner.states(start, stop):
            heads, is_bound = self._constants.of(start, start + len(piece))
            yield encode([pa.array(heads, pa.binary()), pa.array(is_bound), piece])
            start += len(piece)

    def values(self, start: int, stop: int) -> pa.Array:
        """See `Folds.values`."""
        found = self._inner.values(start, stop)
        if pa.types.is_list(found.type):
            found = _without_null(found)
        heads, _ = self._constants.of(start, stop)
        if self.call.gives:
            own = header_of(self.call.signature)
            buffers = encode([found]).cast(pa.large_binary())
            return headed([own if head is None else head for head in heads], buffers)
        result = RESULTS.get(self.call.bound.function.finishes)
        return found if result is None else result(found, [_constant(head) for head in heads])


class Constants:
    """The headers of groups, which have the constants: of the first state that held something,
    else of the first.
    """

    def __init__(self, call: StateCall) -> None:
        self._call = call
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        self._known: dict[bytes, int] = {}
        self._codes, self._bound = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)

    @property
    def held(self) -> int:
        """The bytes that all take at most."""
        return 2 * (self._codes.nbytes + self._bound.nbytes)

    def add(self, groups: Numbers, heads: pa.Array, holds: Any) -> None:
        """Add the header of a state to each of these groups. Raises GroupError if a group has
        others, and both states hold something.
        """
        self._reach(int(groups.max(initial=-1)) + 1)
        found = heads.dictionary_encode()
        numbers = [
            self._known.setdefault(head, len(self._known)) for head in found.dictionary.to_pylist()
        ]
        if len(self._known) == 1:
            self._codes[groups] = 0
            self._bound[groups[holds]] = True
            return
        codes = np.array(numbers, dtype=np.int32)[found.indices.to_numpy()]
        for group, code, held in zip(groups.tolist(), codes.tolist(), holds.tolist(), strict=True):
            if self._codes[group] < 0 or (held and not self._bound[group]):
                self._codes[group] = code
            elif held and self._codes[group] != code:
                raise self._incompatible(group, code)
            self._bound[group] |= held

    def of(self, start: int, stop: int) -> tuple[list[bytes | None], Any]:
        """The headers of these groups, and which of these are of states that held something."""
        self._reach(stop)
        known: list[bytes | None] = [*self._known, None]
        codes = self._codes[start:stop].tolist()
        return [known[code] for code in codes], self._bound[start:stop]

    def _reach(self, count: int) -> None:
        missing = count - len(self._codes)
        if missing > 0:
            room = max(missing, len(self._codes))
            self._codes = np.concatenate((self._codes, np.full(room, -1, dtype=np.int32)))
            self._bound = np.concatenate((self._bound, np.zeros(room, dtype=np.bool_)))

    def _incompatible(self, group: int, code: int) -> GroupError:
        known = list(self._known)
        one, other = (text_of(known[at]) for at in (int(self._codes[group]), code))
        words = (
            f"{self._call.name}, group {group}: aggregate states are incompatible: they have "
            f"different constant arguments, {one} and {other}"
        )
        return GroupError(group, TableError(words))


def split(call: StateCall, groups: Numbers, column: pa.Array) -> tuple[Numbers, pa.Array, pa.Array]:
    """Groups, headers and buffers of the states that are not NULL. Raises GroupError if one is not
    of the call's signature.
    """
    groups, states = _where(groups, column.is_valid()), column.drop_null()
    try:
        heads, buffers = headers.split(call.signature, states)
    except BadRecord as error:
        found = described(states[error.group].as_py())
        group = int(groups[error.group])
        words = f"{call.name} requires a state of {call.signature}, but got {found}"
        raise GroupError(group, TableError(words)) from error
    return groups, heads, buffers


def headed(heads: list[bytes], buffers: pa.Array) -> pa.Array:
    """States of these headers and buffers."""
    between = pa.scalar(b"", pa.large_binary())
    wide = pa.array(heads, pa.large_binary())
    return pc.binary_join_element_wise(wide, buffers, between).cast(pa.binary())


def _where(groups: Numbers, flags: pa.Array) -> Numbers:
    return np.ascontiguousarray(groups[flags.to_numpy(zero_copy_only=False)])


def _without_null(lists: pa.Array) -> pa.Array:
    """The lists, an empty one in place of NULL."""
    if not lists.null_count:
        return lists
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, lists.flatten(), type=lists.type)


def _constant(head: bytes | None) -> str | None:
    """The one constant in a header: the text behind `;p=`."""
    text = "" if head is None else text_of(head) or ""
    return text.partition(";")[2].partition("=")[2] or None
