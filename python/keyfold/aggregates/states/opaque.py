"""Common to the aggregates of opaque states: their type, and the states of a key that count."""

from collections.abc import Callable
from typing import Any

from pyarrow import types

from keyfold.aggregates.declaration import Accepts, BadRecord, Fold, FoldResult, Inputs, Records
from keyfold.aggregates.results import by_group
from keyfold.kernels.ops import RESET, SKIP
from keyfold.types.logical import DataType, describe, name_of

BYTES = Accepts(
    "'VarBinaryType'", lambda kind: types.is_binary(kind) or types.is_large_binary(kind)
)


def not_fixed(words: str) -> Callable[[DataType], str | None]:
    """A check that refuses BINARY(n), which pads values; `words` name the column as in Paimon."""

    def refuses(kind: DataType) -> str | None:
        if name_of(kind) == "BINARY":
            return (
                f"Data type for {words} column must be 'VarBinaryType' but was '{describe(kind)}'."
            )
        return None

    return refuses


def live(records: Records) -> list[bytes]:
    """The states since the last reset, without NULL and those that are skipped."""
    states: list[bytes] = []
    for op, state in records:
        if op == RESET:
            states.clear()
        if op != SKIP and state is not None:
            states.append(state)
    return states


def united(
    union: Callable[[list[bytes]], bytes],
) -> Callable[[Inputs], FoldResult]:
    """A fold: the union of the states that count. A single state is not opened.

    A ValueError of `union` becomes a BadRecord of the one key.
    """

    def combine(records: Records) -> bytes | None:
        states = live(records)
        if len(states) < 2:
            return states[0] if states else None
        try:
            return union(states)
        except ValueError as error:
            raise BadRecord(0, str(error)) from error

    return by_group(combine)


def union_of(
    name: str,
    words: str,
    union: Callable[[list[bytes]], bytes],
    definition: Callable[[Records], bytes | None] | None = None,
    **more: Any,
) -> Fold:
    """The declaration of a union of states; `words` name the column as in Paimon. By its definition
    each state joins the union of those before it, and the first is kept as it is.
    """

    def in_turn(records: Records) -> bytes | None:
        result: bytes | None = None
        for state in live(records):
            result = state if result is None else union([result, state])
        return result

    return Fold(
        name,
        BYTES,
        definition or in_turn,
        refuses=not_fixed(words),
        reversal="append",
        unites=True,
        fold=united(union),
        nulls="ignored; all NULL gives NULL",
        retraction="refused",
        **more,
    )
