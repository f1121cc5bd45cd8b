"""Ranges of ids: a table hands them out, a bucket uses them up.

The chain `auto-increment/ranges` in the table's folder has the last number that was handed out.
Each bucket has a chain of its own, with what is left of its ranges: a job that writes new keys
there takes as many as it needs by one commit of that chain, and a new range by one of the table's.
A number that was taken and is not stored stays unused: nothing is given back, so that neither a
rollback nor a job that died makes an id come twice. Branches share the chains of their table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from keyfold.errors import CorruptDataError, TableError
from keyfold.ids.chain import Chain, attempts
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.stores.files import UnsettledError
from keyfold.stores.opened import store_of
from keyfold.types.logical import name_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition

FOLDER = "auto-increment"
_MOST = {"INT": (1 << 31) - 1, "BIGINT": (1 << 63) - 1}
Range = tuple[int, int]  # the first and the last number


@dataclass(frozen=True)
class Ranges:
    """The ids of a table."""

    layout: TableLayout
    column: str
    at_once: int

    @staticmethod
    def of(layout: TableLayout, options: TableOptions | None = None) -> Ranges:
        """The ids of a table that has an auto-increment column."""
        parsed = options or parse(layout)
        (column,) = parsed.id_columns
        return Ranges(layout, column, parsed.ids_at_once)

    @property
    def has_begun(self) -> bool:
        """Whether the table has a first range."""
        return self._of_table.newest() is not None

    def begin(self, last: int) -> None:
        """Make `last` the last number that is given, unless the table has begun already."""
        with suppress(UnsettledError):
            self._of_table.follow(None, {"last": last})

    def take(self, partition: Partition, bucket: int, count: int) -> list[Range]:
        """As many new ids, ascending, for keys of a bucket. Raises TableError if the type of the
        column has no more numbers.
        """
        below = partition.bucket_folder(self.layout, bucket)[len(self._location) :]
        chain = self._chain(f"{FOLDER}{below}")
        own: list[Range] = []  # taken of the table by this call
        for _ in attempts(self._doing):
            newest = chain.newest()
            left = [] if newest is None else [(first, last) for first, last in newest.state]
            left = sorted([*left, *own])
            missing = count - _size(left)
            if missing > 0:
                own.append(self._range(missing))
                left.append(own[-1])
            given, rest = _cut(left, count)
            try:
                if chain.follow(newest, rest):
                    return given
            except UnsettledError:  # then `rest` may count, and what is of `own` in it
                own.clear()
        raise AssertionError("attempts end by an error")

    def _range(self, least: int) -> Range:
        """A new range of at least that many numbers."""
        most = _MOST[name_of(self.layout.column(self.column).type)]
        size = -(-least // self.at_once) * self.at_once
        for _ in attempts(self._doing):
            newest = self._of_table.newest()
            if newest is None:
                raise CorruptDataError(
                    f"{self._doing}: {self._of_table.folder} is gone, which has the last number "
                    "that was given; run the job again, which begins above the greatest one stored"
                )
            first = int(newest.state["last"]) + 1
            if first + least - 1 > most:
                raise TableError(
                    f"{self._doing}: Reached maximum value of sequence '{self.column}' ({most}); "
                    f"{first - 1} is the last number that was given. A smaller "
                    f"{TableOptions.ids_at_once.name} leaves fewer numbers unused; BIGINT has more"
                )
            last = min(first + size - 1, most)
            with suppress(UnsettledError):  # then the range is nobody's
                if self._of_table.follow(newest, {"last": last}):
                    return first, last
        raise AssertionError("attempts end by an error")

    @property
    def _doing(self) -> str:
        return f"table {self.layout.name}, ids of column {self.column}"

    @property
    def _location(self) -> str:
        return self.layout.location.rstrip("/")

    @property
    def _of_table(self) -> Chain:
        return self._chain(f"{FOLDER}/ranges")

    def _chain(self, folder: str) -> Chain:
        files = store_of(self.layout.location, self.layout.store)
        return Chain(files, f"{self._location}/{folder}")


def _size(ranges: Sequence[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _cut(ranges: Sequence[Range], count: int) -> tuple[list[Range], list[Range]]:
    """The first numbers of ranges, and the others."""
    given, rest = [], []
    for first, last in ranges:
        part = min(count, last - first + 1)
        if part:
            given.append((first, first + part - 1))
        if first + part <= last:
            rest.append((first + part, last))
        count -= part
    return given, rest
