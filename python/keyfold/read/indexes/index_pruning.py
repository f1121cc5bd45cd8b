"""Files that a scan leaves out by their indexes: Bloom filters, and the values of bitmaps.

A condition on key columns leaves out any file: no row of it has a key that is asked for, so that it
has no part in the merge of one. A condition on other columns leaves out files that overlap no
other, whose rows are results: a newer row that does not satisfy it would hide an older one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from keyfold.files.indexes.file_indexes import is_file
from keyfold.files.indexes.reading import stored_indexes
from keyfold.options.unparsed import READS_INDEXES
from keyfold.predicates.ranges import ValueRange, may_be_true
from keyfold.read.parts import ScanParts
from keyfold.read.plan_head import PlanHead
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import LiveFiles
from keyfold.storage.table import Table
from keyfold.types.literals import FLOATING, Unknown
from keyfold.types.logical import name_of, with_nullability
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate

MOST_FILES = 1024  # index files that one plan reads
MOST_VALUES = 64  # of a list, each of which is hashed for each file
_MOST_EMBEDDED = 1 << 20  # bytes
_THREADS = 16
_COLUMNS = re.compile(r"^file-index\.[^.]+\.columns$")
_ASKED = ("=", "<=>", "IN", "IS_NULL")


def with_keys(head: PlanHead, live: LiveFiles) -> LiveFiles:
    """The files less those that hold no key that is asked for."""
    asked = _Asked.of(head, head.chosen.by_key)
    return live if asked is None else live.less(asked.lacking)


def with_values(head: PlanHead, parts: ScanParts) -> ScanParts:
    """The parts less the files without a row that is asked for, of those that overlap no other."""
    asked = _Asked.of(head, head.chosen.by_value)
    return parts if asked is None else parts.less(asked.lacking)


@dataclass(frozen=True)
class _Asked:
    """Conditions, all of which hold, and the columns among them that may have indexes."""

    table: Table
    predicates: tuple[Predicate, ...]
    columns: tuple[str, ...]

    @staticmethod
    def of(head: PlanHead, predicates: Sequence[Predicate]) -> _Asked | None:
        """None if no index could decide one of the conditions."""
        indexed = _indexed(head.table.layout)
        named = [(one, indexed.intersection(_compared(one))) for one in predicates]
        columns = tuple(sorted(set[str]().union(*(columns for _, columns in named))))
        if not columns or not head.settings[READS_INDEXES]:
            return None
        return _Asked(head.table, tuple(one for one, columns in named if columns), columns)

    def lacking(self, files: Iterable[LiveFile]) -> Collection[str]:
        """The names of the files that have no row which satisfies the conditions."""
        names, gone = cache(self._stored_names), set[str]()
        beside: list[tuple[LiveFile, str]] = []
        for file in files:
            index = "" if file.is_marked else file.index(_MOST_EMBEDDED)
            if index and is_file(index):
                beside.append((file, index))
                if len(beside) > MOST_FILES:
                    return gone
            elif index and not self._keeps(file, index, names(file.schema_id)):
                gone.add(file.name)

        def keeps(one: tuple[LiveFile, str]) -> bool:
            return self._keeps(*one, names(one[0].schema_id))

        if self.table.files.is_local:
            flags = list(map(keeps, beside))
        else:
            with ThreadPoolExecutor(_THREADS) as pool:
                flags = list(pool.map(keeps, beside))
        pairs = zip(beside, flags, strict=True)
        return gone | {file.name for (file, _), is_kept in pairs if not is_kept}

    def _stored_names(self, schema_id: int) -> dict[str, str]:
        """The columns by the names that files of a schema have for them, of the same type."""
        stored = {column.id: column for column in self.table.schema(schema_id).columns}
        found = {}
        for now in map(self.table.layout.column, self.columns):
            was = stored.get(now.id)
            if was is not None and with_nullability(was.type, now.type.nullable) == now.type:
                found[now.name] = was.name
        return found

    def _keeps(self, file: LiveFile, index: str, names: Mapping[str, str]) -> bool:
        if not names:
            return True
        layout = self.table.layout
        folder, own = file.folder(layout) if is_file(index) else "", tuple(names.values())
        indexes = stored_indexes(self.table.files, folder, index, own)
        ranges = {}
        for name, was in names.items():
            found = indexes.get(was)
            if found is None:
                continue
            kind = layout.column(name).type
            held = found.held(kind)
            nulls, values = (True, True) if held is None else (held.has_null, bool(held.values))
            ranges[name] = ValueRange(kind, None, None, nulls, values, found.tells(kind))
        return all(may_be_true(predicate, ranges) for predicate in self.predicates)


def _compared(predicate: Predicate) -> Iterator[str]:
    """The columns that are compared with a few values, or asked for NULL."""
    if predicate.op in _ASKED and len(predicate.args) <= MOST_VALUES + 1:
        try:
            yield predicate.column
        except Unknown:
            return
    for part in predicate.args:
        if isinstance(part, Predicate):
            yield from _compared(part)


def _indexed(layout: TableLayout) -> set[str]:
    """The columns of which files may have indexes whose values are those of conditions: floating
    values that are equal have several forms, and texts of CHAR are padded in some files.
    """
    named = {
        name
        for option, text in layout.options.items()
        if _COLUMNS.match(option)
        for name in map(str.strip, text.split(","))
    }
    kinds = {column.name: name_of(column.type) for column in layout.columns}
    return {name for name in named if kinds.get(name) not in (None, "", "CHAR", *FLOATING)}
