"""The groups of one operator of a task: rows with their keys go in, keys with values or states of
every group come out. Groups that do not fit into memory are spilled, or are due to be taken away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.group_by.area import Batch
from keyfold.group_by.folds import Call, call_of, folding
from keyfold.group_by.keys import keys_of
from keyfold.group_by.spilled import SpilledGroups
from keyfold.group_by.stated import Folds
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.kernels.unsafe_rows.layout import width
from keyfold.types.arrow import to_arrow
from keyfold.types.spark import from_spark

_FULL = 2  # parts of the memory: what all groups may take at most,
_WAITING = 16  # and what the rows that wait of all calls may take
_PIECE = 1 << 15  # groups that come out at once
_DEEPEST = 3  # how often groups are split at most: then equal hashes are to blame


@dataclass(frozen=True)
class GroupInput:
    """A call, and where its arguments are: a column of values of this type, of rows' bytes if
    `is_packed`, or of states. `mask` is a column of flags, -1 if all rows count. Its results are
    states if `gives_state`.
    """

    call: Call
    type: pa.DataType
    column: int
    is_packed: bool
    is_state: bool
    mask: int
    gives_state: bool

    @staticmethod
    def of(found: Mapping[str, Any]) -> GroupInput:
        """From the JVM's JSON."""
        names = ("column", "is_packed", "is_state", "mask", "gives_state")
        kind = to_arrow(from_spark(found["type"]))
        return GroupInput(call_of(found["fold"]), kind, *(found[name] for name in names))


class RunningGroups:
    """The keys and the values of all groups. GroupError of a method is about `key_of` its group."""

    def __init__(
        self, kinds: Sequence[pa.DataType], sources: Sequence[GroupInput], room: int, spills: bool
    ) -> None:
        waiting = room // _WAITING // max(len(sources), 1)
        self._kinds, self._sources = kinds, sources
        self._folds = [folding(source.call, waiting) for source in sources]
        self._most = room // _FULL
        self._spilled = SpilledGroups(0) if spills and kinds else None
        self._clear_keys()

    def _clear_keys(self) -> None:
        self._keys = keys_of(self._kinds)

    def clear(self) -> None:
        """Forget all groups that are in memory."""
        self._clear_keys()
        for fold in self._folds:
            fold.clear()

    @property
    def is_full(self) -> bool:
        """Whether the groups in memory should be taken away."""
        held = self._keys.held + sum(fold.held for fold in self._folds)
        return bool(self._kinds) and held > self._most

    @property
    def spilled_bytes(self) -> int:
        """The bytes on disk."""
        return 0 if self._spilled is None else self._spilled.bytes

    def key_of(self, group: int) -> bytes | None:
        """The key of a group, as bytes of a row; None if there are no keys."""
        if not self._kinds:
            return None
        found: bytes = encode(self._keys.columns(group, group + 1))[0].as_py()
        return found

    def add(self, batch: Batch) -> None:
        """Add rows."""
        is_word = len(self._kinds) == 1 and width(self._kinds[0]) is not None
        kind = self._kinds[0] if is_word else pa.binary()
        keys = batch.column(0, kind) if self._kinds else pa.nulls(batch.rows)
        groups = self._keys.number(keys)
        for source, fold in zip(self._sources, self._folds, strict=True):
            if source.is_state:
                fold.merge(groups, batch.column(source.column, pa.binary()))
            else:
                column = _argument(batch, source, copied=fold.keeps_rows)
                if source.mask < 0:
                    fold.add(groups, column)
                else:
                    flags = batch.flags(source.mask)
                    fold.add(groups[flags], column.filter(pa.array(flags)))
        if self._spilled is not None and self.is_full:
            self._spill(self._spilled)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Keys and results of all groups, which are forgotten then."""
        if self._spilled is None or not self._spilled.bytes:
            yield from self._results()
            self.clear()
        else:
            self._spill(self._spilled)
            yield from self._merged(self._spilled)

    @property
    def schema(self) -> pa.Schema:
        """The columns of `batches`."""
        results = [
            pa.binary() if source.gives_state else source.call.arrow_type
            for source in self._sources
        ]
        return _schema([*self._kinds, *results])

    def _results(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, self._keys.count, _PIECE):
            stop = min(start + _PIECE, self._keys.count)
            columns = self._keys.columns(start, stop)
            for source, fold in zip(self._sources, self._folds, strict=True):
                is_state = source.gives_state
                columns.append(_states(fold, start, stop) if is_state else fold.values(start, stop))
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _spill(self, to: SpilledGroups) -> None:
        for start in range(0, self._keys.count, _PIECE):
            stop = min(start + _PIECE, self._keys.count)
            states = [_states(fold, start, stop) for fold in self._folds]
            to.add(self._keys.columns(start, stop), states)
        self.clear()

    def _merged(self, spilled: SpilledGroups) -> Iterator[pa.RecordBatch]:
        for part in spilled.parts():
            deeper = None
            for batch in part:
                self._merge(batch)
                if self.is_full and spilled.depth < _DEEPEST:
                    deeper = deeper or SpilledGroups(spilled.depth + 1)
                    self._spill(deeper)
            if deeper is None:
                yield from self._results()
                self.clear()
            else:
                self._spill(deeper)
                yield from self._merged(deeper)

    def _merge(self, batch: pa.RecordBatch) -> None:
        keys, states = batch.columns[: len(self._kinds)], batch.columns[len(self._kinds) :]
        is_word = len(keys) == 1 and width(keys[0].type) is not None
        groups = self._keys.number(keys[0] if is_word else encode(keys))
        for fold, column in zip(self._folds, states, strict=True):
            fold.merge(groups, column)


def _argument(batch: Batch, source: GroupInput, *, copied: bool) -> pa.Array:
    if source.is_packed:
        return decode(batch.column(source.column, pa.binary()), [source.type])[0]
    return batch.column(source.column, source.type, copied=copied)


def _states(fold: Folds, start: int, stop: int) -> pa.Array:
    return pa.concat_arrays(list(fold.states(start, stop)))


def _schema(kinds: Sequence[pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(f"c{place}", kind) for place, kind in enumerate(kinds)])
