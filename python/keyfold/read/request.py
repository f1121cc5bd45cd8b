"""The request of a read: each door makes it from what it was given, and planners take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from keyfold.storage.metadata.partition_bounds import Bounded
from keyfold.wire.predicates import Predicate, decoded
from keyfold.wire.specs import Aggregate

Unit = TypeVar("Unit")


@dataclass(frozen=True)
class Units:
    """A range of a snapshot's `units`: the first, the one after the last (None: all that follow),
    and the least level of the files that make units of a scan.
    """

    first: int
    end: int | None
    least_level: int = 0

    def among(self, every: Sequence[Unit]) -> Sequence[Unit]:
        """The units of the range."""
        return every[self.first : self.end]


@dataclass(frozen=True)
class ReadRequest:
    """The rows of a table, or of its changes, that a read asks for.

    `columns` may name metadata columns; those of changes are of their view. All `filters` must
    hold; Spark has to check them again, except those in `enforced`, which are over columns of the
    key, or of any column if groups are asked for. `options` are the reader's, which may set those
    of the table that are about reads. `cores` read at once. `only` are some of the units, `within`
    are partitions to which a plan keeps.

    Scans alone have groups in place of rows (`aggregate`), and return the first `limit` rows of
    each split with `is_top`.
    """

    columns: Sequence[str]
    filters: Sequence[Predicate] = ()
    enforced: Sequence[Predicate] = ()
    limit: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    only: Units | None = None
    aggregate: Aggregate | None = None
    is_top: bool = False
    within: Bounded | None = None

    @staticmethod
    def from_json(question: Mapping[str, Any], options: Mapping[str, str]) -> ReadRequest:
        """The request of a question of the JVM, with its options as they were checked."""
        aggregate = question.get("aggregate")
        return ReadRequest(
            columns=question["columns"],
            filters=decoded(question["filters"]),
            enforced=decoded(question.get("enforced")),
            limit=question.get("limit"),
            options=options,
            cores=question.get("cores") or 1,
            aggregate=None if aggregate is None else Aggregate.from_json(aggregate),
            is_top=question.get("is_top") or False,
        )
