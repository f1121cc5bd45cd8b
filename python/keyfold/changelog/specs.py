"""The specs of reading changes, which travel as those of scans do (`wire.specs`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keyfold.wire.codec import Wire
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import DataFile, ScanSpec, Split


@dataclass(frozen=True)
class ChangesRequest(Wire):
    """The changes of the snapshots after `after` (0: from the first one on) up to `until`, as the
    rows of a view (`views`). With `net` each key has one change over the whole range, else one a
    snapshot. With `updates` the two images of an update are called so; else they are a delete and
    an insert. `full` asks for every row of snapshot `until`, as inserted;
    with `only_written` for those alone whose changes a producer has written, which the next
    ones follow.
    """

    view: str
    after: int
    until: int
    net: bool = False
    updates: bool = False
    full: bool = False
    only_written: bool = False


@dataclass(frozen=True)
class ChangesSpec(Wire):
    """The part of one reading of changes that all its splits share.

    `scan` reads all columns of the table where rows are compared, because any of them tells rows
    apart; its `key_filter` leaves out keys. `columns` are those of the view that come out.
    `value_filter` are predicates on rows of changes: rows that fail them may be left out. `millis`
    has the time of each snapshot.
    """

    scan: ScanSpec
    asked: ChangesRequest
    columns: tuple[str, ...]
    millis: Mapping[int, int]
    value_filter: tuple[Predicate, ...] = ()
    limit: int | None = None


@dataclass(frozen=True)
class ChangeSplit(Wire):
    """Some keys of a bucket before and after a snapshot, which is the newest of those compared.

    `before` and `after` are splits of one range of keys. Only keys in `touched` can differ: files
    that a snapshot added or removed, in the same bucket. With `by_key` these keys are looked up,
    else all rows are compared. If `is_stored`, the changes themselves are the files of `after`,
    which a producer wrote.
    """

    snapshot: int
    before: Split
    after: Split
    touched: tuple[tuple[int, DataFile], ...] = ()
    by_key: bool = False
    is_stored: bool = False
