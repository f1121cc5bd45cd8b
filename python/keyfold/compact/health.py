"""The health of a table's buckets: runs, files, the cost of a read, and advice.

It is a pure function of the live files and the options: nothing is read. Read amplification is the
number of runs a key may be in, averaged over the stored bytes. It is 1 if nothing overlaps, and N
if N runs hold the same keys. At worst a point look-up opens that number of files, and a merge reads
that number of rows for each row it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.compact.pick import BucketRun, PickRules, bucket_runs
from keyfold.files.sections import runs, sections
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.entries import LiveFile, Place, by_place, decode_keys
from keyfold.storage.table import Table
from keyfold.storage.waiting_files import waiting
from keyfold.wire.layout import TableLayout, sql_name
from keyfold.wire.partitions import partition_text

SMALL_FILES = 16  # this many files above level 0 need no advice, however small
SMALL = 10  # a file is small below a tenth of target-file-size
LARGE_BUCKET = 16 << 30
FEW_BYTES = 8 << 20  # buckets this small on average are too many …
MANY_BUCKETS = 16  # … when there are at least this many
DELETES = 5  # a fifth of the rows is worth a full compaction
SKEW = 4


@dataclass(frozen=True)
class Health:
    """One bucket of one partition; `advice` is empty if there is nothing to do."""

    partition: tuple[Any, ...]
    bucket: int
    runs: int
    level0_files: int
    files: int
    bytes: int
    rows: int
    largest_file: int
    delete_rows: int
    read_amplification: float
    advice: str

    def to_json(self, layout: TableLayout) -> dict[str, Any]:
        """The fields by the names in `table_health`, with the partition as text."""
        return {**self.__dict__, "partition": partition_text(layout, self.partition)}


def of_table(table: Table) -> list[Health]:
    """The health of the table's buckets; the statements that are advised can be run as they are.
    The list is empty for tables without a key: there is nothing to merge in them.
    """
    if not table.layout.primary_key:
        return []
    name = sql_name(table.namespace, table.table).replace("'", "''")
    call = f"CALL {sql_name(table.catalog)}.sys.compact(table => '{name}'"
    return table_health(table.live_files(), table.options, call, waiting(table))


def table_health(
    files: Sequence[LiveFile], options: TableOptions, call: str, postponed: Sequence[LiveFile] = ()
) -> list[Health]:
    """Every bucket that has files, in order of partition and bucket; the rows of `postponed` files
    have none yet. `call` is the beginning of the statement that compacts the table; other arguments
    follow it.
    """
    places = by_place(files)
    decode_keys(files)
    whole = _Whole.of(places, options, call)
    found = [_health(place, files, whole) for place, files in places.items()]
    found += [_of_waiting(place, files, whole) for place, files in by_place(postponed).items()]
    return sorted(found, key=lambda one: (repr(one.partition), one.bucket))


@dataclass(frozen=True)
class _Whole:
    """The facts about the table that advice on a bucket needs."""

    options: TableOptions
    rules: PickRules
    call: str
    buckets: int
    mean_bytes: float

    @staticmethod
    def of(places: dict[Place, list[LiveFile]], options: TableOptions, call: str) -> _Whole:
        total = sum(file.size for files in places.values() for file in files)
        mean = total / max(len(places), 1)
        return _Whole(options, PickRules.of(options), call, len(places), mean)

    def compact(self, strategy: str) -> str:
        """The statement that compacts, and what a program does in its place."""
        call = f"{self.call}, compact_strategy => '{strategy}')"
        return f"{call} (in Python table.compact('{strategy}'))"


def _health(place: Place, files: Sequence[LiveFile], whole: _Whole) -> Health:
    found = [file.as_read(whole.options) for file in files]
    of_bucket = bucket_runs(found)
    deletes = sum(file.delete_rows or 0 for file in files)
    advice = "; ".join(_advice(files, of_bucket, deletes, whole))
    return Health(
        *place,
        runs=len(of_bucket),
        level0_files=sum(1 for file in files if file.level == 0),
        files=len(files),
        bytes=sum(file.size for file in files),
        rows=sum(file.rows for file in files),
        largest_file=max(file.size for file in files),
        delete_rows=deletes,
        read_amplification=round(amplification(found), 2),
        advice=advice,
    )


def _of_waiting(place: Place, files: Sequence[LiveFile], whole: _Whole) -> Health:
    """The health of rows that have no bucket yet: no read merges them."""
    rows = sum(file.rows for file in files)
    return Health(
        *place,
        runs=0,
        level0_files=len(files),
        files=len(files),
        bytes=sum(file.size for file in files),
        rows=rows,
        largest_file=max(file.size for file in files),
        delete_rows=sum(file.delete_rows or 0 for file in files),
        read_amplification=0.0,
        advice=f"{rows} rows wait for their buckets, and no query sees them: run "
        f"{whole.compact('minor')}",
    )


def amplification(files: Sequence[LiveFile]) -> float:
    """The number of runs a key may be in, averaged over bytes; 1.0 without files."""
    weighted = total = 0
    for section in sections(files):
        size = sum(file.size for file in section)
        weighted += size * len(runs(section))
        total += size
    return weighted / total if total else 1.0


def _advice(
    files: Sequence[LiveFile], found: Sequence[BucketRun], deletes: int, whole: _Whole
) -> Iterator[str]:
    """Sentences on what to do, the most useful first."""
    size, rows = sum(file.size for file in files), sum(file.rows for file in files)
    newer = len(found) - (1 if found[-1].level else 0)
    if newer >= whole.rules.trigger and whole.options.write_only:
        yield (
            f"write-only, and no compaction for {newer} runs: run {whole.compact('full')} in a "
            "job of its own, or unset write-only"
        )
    elif len(found) >= whole.rules.stop:
        yield f"{len(found)} runs, more than writes work off: run {whole.compact('minor')}"
    elif rows and deletes * DELETES >= rows:
        drops = f"run {whole.compact('full')} to drop them"
        if first_kept(whole.options) != NONE:
            drops = "later rows fold with them; keyfold.deletes.time-retained says for how long"
        yield f"{100 * deletes // rows} % of the rows are deletes: {drops}"
    yield from _on_files(found, whole)
    yield from _on_size(size, whole)


def _on_files(found: Sequence[BucketRun], whole: _Whole) -> Iterator[str]:
    compacted = [file.size for run in found if run.level for file in run.files]
    target = whole.options.target_file_size
    small = sum(1 for size in compacted if size * SMALL < target)
    if small > SMALL_FILES:
        yield (
            f"small files: {small} below a tenth of target-file-size ({_size(target)}): run "
            f"{whole.compact('full')}"
        )


def _on_size(size: int, whole: _Whole) -> Iterator[str]:
    if size > LARGE_BUCKET:
        yield (
            f"{_size(size)} in one bucket: more buckets (CALL sys.rescale; in Python "
            "table.rescale) let more tasks write it, and compact it in smaller steps"
        )
    elif whole.buckets >= MANY_BUCKETS and whole.mean_bytes < FEW_BYTES:
        yield (
            f"{whole.buckets} buckets of {_size(int(whole.mean_bytes))} on average: fewer buckets, "
            "or coarser partitions, make fewer and larger files"
        )
    elif whole.buckets > 1 and size > max(SKEW * whole.mean_bytes, FEW_BYTES):
        yield (
            f"{size / whole.mean_bytes:.0f} times the mean of the buckets: some keys of bucket-key "
            "hold most rows"
        )


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
