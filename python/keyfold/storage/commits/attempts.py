"""One attempt of a commit: manifests are written, and the snapshot that names them is published.

The manifests are removed only if the snapshot is known not to exist.
"""

import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keyfold.errors import ConflictError, CorruptDataError, UnknownOutcomeError
from keyfold.storage.commits.outcomes import OUTCOMES
from keyfold.storage.metadata.entries import ADD, LAST_SEQUENCE, Record
from keyfold.storage.metadata.index_manifests import IndexEntry, write_entries
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.merging import merge
from keyfold.storage.metadata.snapshot_files import keep_listed, listed_of, number_above
from keyfold.storage.metadata.snapshots import (  # fmt: skip
    BATCH_COMMIT_IDENTIFIER,
    IN_ORDER,
    Snapshot,
    Snapshots,
    highest_property,
)
from keyfold.storage.table import Table
from keyfold.stores.files import UnsettledError

APPEND = "APPEND"


@dataclass(frozen=True)
class Entries:
    """The manifest entries of a commit: those that change the table, and those of changelog
    files. `index` are all entries of the index manifest, None if it stays as it is; the bytes of
    new files that they name are in `index_files`, by path.
    """

    delta: Collection[Record]
    changelog: Collection[Record] = ()
    index: Sequence[IndexEntry] | None = None
    index_files: Mapping[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.delta or self.changelog) or self.index is not None


@dataclass(frozen=True)
class CommitInfo:
    """The job of a commit, and the commit's kind. `statistics` is the name of a file of them, None
    if those of the snapshot before stay. `properties` are those of the snapshot. With
    `merges_manifests` all manifests are written anew.
    """

    job: str
    kind: str
    statistics: str | None = None
    properties: Mapping[str, str] | None = None
    merges_manifests: bool = False


def attempt(
    table: Table, by: CommitInfo, base: Snapshot | None, entries: Entries, location: str
) -> int | None:
    """Write manifests and publish a snapshot in the folder `location`. Returns its id, None if
    another commit took it.
    """
    written: list[str] = []
    try:
        snapshot, listed = _prepare(table, by, base, entries, written)
    except BaseException:
        _remove(table, entries, written)
        raise
    try:
        is_published = publish(table, snapshot, location, base)
    except OSError:
        _remove(table, entries, written)
        raise
    if not is_published:
        _remove(table, entries, written)
        return None
    keep_listed(table.manifests, snapshot, listed)
    return int(snapshot.id)


def unchanged(
    table: Table, base: Snapshot, properties: Mapping[str, str], written: list[str]
) -> Snapshot:
    """A snapshot above `base` that differs from it by its properties alone; the caller publishes
    it. The names of the files that it needs are added to `written` beforehand.
    """
    by = CommitInfo(str(uuid.uuid4()), APPEND, properties=properties)
    return _prepare(table, by, base, Entries(()), written)[0]


def _remove(table: Table, entries: Entries, written: Sequence[str]) -> None:
    """Remove what no snapshot names: manifests by name, and new index files."""
    table.manifests.remove(written)
    for path in entries.index_files:
        table.files.remove(path)


def _prepare(
    table: Table, by: CommitInfo, base: Snapshot | None, entries: Entries, written: list[str]
) -> tuple[Snapshot, list[Record]]:
    """The snapshot to publish, and records of its manifests. The names of the files that it needs
    are added to `written` beforehand.
    """
    manifests, schema_id = table.manifests, table.layout.schema_id
    unique, millis = uuid.uuid4(), int(time.time() * 1000)
    base_list, delta_list = f"manifest-list-{unique}-0", f"manifest-list-{unique}-1"
    written += [base_list, delta_list]
    delta, passed = _written(manifests, entries.delta, schema_id, written)
    listed = [] if base is None else listed_of(manifests, base)
    kept, fresh = merge(
        manifests, listed, table.options, schema_id, whole_table=by.merges_manifests
    )
    written += fresh
    base_size = manifests.write_list(base_list, kept)
    delta_size = manifests.write_list(delta_list, delta)
    rows, snapshot_id = passed.rows, 1 if base is None else base.id + 1
    told = {IN_ORDER: str(_in_order_from(base, millis))}
    told |= _highest(table, base, passed.highest, snapshot_id)
    snapshot = Snapshot(
        version=3,
        id=snapshot_id,
        schema_id=schema_id,
        base_manifest_list=base_list,
        base_manifest_list_size=base_size,
        delta_manifest_list=delta_list,
        delta_manifest_list_size=delta_size,
        total_record_count=rows + (0 if base is None else base.total_record_count or 0),
        delta_record_count=rows,
        commit_user=by.job,
        commit_identifier=BATCH_COMMIT_IDENTIFIER,
        commit_kind=by.kind,
        time_millis=millis,
        index_manifest=_indexed(table, base, entries, written),
        watermark=None if base is None else base.watermark,
        statistics=by.statistics or (None if base is None else base.statistics),
        next_row_id=None if base is None else base.next_row_id,
        properties={**(by.properties or {}), **told},
    )
    if not entries.changelog:
        return snapshot, kept + delta
    changelog_list = f"manifest-list-{unique}-2"
    written.append(changelog_list)
    logged, passed = _written(manifests, entries.changelog, schema_id, written)
    with_changelog = replace(
        snapshot,
        changelog_manifest_list=changelog_list,
        changelog_manifest_list_size=manifests.write_list(changelog_list, logged),
        changelog_record_count=passed.rows,
    )
    return with_changelog, kept + delta


def _indexed(
    table: Table, base: Snapshot | None, entries: Entries, written: list[str]
) -> str | None:
    """The name of the index manifest, None without entries."""
    if entries.index is None:
        return None if base is None else base.index_manifest
    if not entries.index:
        return None
    for path, data in entries.index_files.items():
        table.files.write(path, data)
    name = f"index-manifest-{uuid.uuid4()}-0"
    written.append(name)
    write_entries(table.manifests, name, entries.index)
    return name


def _in_order_from(base: Snapshot | None, millis: int) -> int:
    """The first of the snapshots whose times never go back up to a new one of this time."""
    if base is None:
        return 1
    if millis < base.time_millis:
        return base.id + 1
    return base.id if base.in_order_from is None else base.in_order_from


@dataclass
class _Passed:
    """The rows of entries that have been gone through, those of deleted files negative, and the
    greatest sequence number in files that they add, -1 if they add none.
    """

    rows: int = 0
    highest: int = -1

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, each counted as it passes."""
        for record in records:
            file = record["_FILE"]
            if record["_KIND"] == ADD:
                self.rows += file["_ROW_COUNT"]
                self.highest = max(self.highest, file["_MAX_SEQUENCE_NUMBER"])
            else:
                self.rows -= file["_ROW_COUNT"]
            yield record


def _written(
    manifests: Manifests, records: Collection[Record], schema_id: int, written: list[str]
) -> tuple[list[Record], _Passed]:
    """Write entries as manifests, whose names are added to `written`; returns the records of a list
    of them, and what the entries say together.
    """
    found, passed = list[Record](), _Passed()
    for one in manifests.write(passed.through(records), len(records), schema_id):
        written.append(one["_FILE_NAME"])
        found.append(one)
    return found, passed


def _highest(table: Table, base: Snapshot | None, highest: int, snapshot_id: int) -> dict[str, str]:
    """The property of the highest sequence number, so that later jobs read no manifests for theirs,
    of a commit whose files have numbers up to `highest`.
    None where a damaged manifest hides the number: this commit does not need it. None either if no
    number can follow: the file of that number may be gone.
    """
    try:
        if base is not None:
            before = number_above(table.manifests, base, table.snapshots.find)
            highest = max(highest, before)
    except CorruptDataError:
        return {}
    return highest_property(highest, snapshot_id) if highest < LAST_SEQUENCE else {}


def publish(table: Table, snapshot: Snapshot, location: str, base: Snapshot | None) -> bool:
    """Publish. From here on the job's files may be live, until the snapshot is known not to exist.

    `location` stays this table's: another one that takes its name and place gets no snapshot.
    """
    job = snapshot.commit_user
    OUTCOMES.remember(job, None)
    snapshots = replace(table.snapshots, location=location)
    try:
        # The answer to a request that is sent twice, or late, is that another commit was first:
        # that commit may be the job's own.
        is_published = snapshots.publish(snapshot, base)
        if not is_published and _happened(table, snapshots, snapshot):
            is_published = _stays(table, snapshots, snapshot, base)
    except OSError as error:
        if not _happened(table, snapshots, snapshot, error):
            OUTCOMES.forget(job)
            raise
        is_published = _stays(table, snapshots, snapshot, base, error)
    if is_published and not table.files.is_local:
        _withdraw_if_table_is_another(table, snapshot)
    if is_published:
        OUTCOMES.remember(job, snapshot.id)
    else:
        OUTCOMES.forget(job)
    return is_published


def _unknown(table: Table, snapshot: Snapshot, failed: str, found: str) -> UnknownOutcomeError:
    return UnknownOutcomeError(
        f"commit of snapshot {snapshot.id} to table {table.layout.name} failed ({failed}) and "
        f"whether it took place can't be read ({found}); its data files were kept: look for commit "
        f"user {snapshot.commit_user} in {table.snapshots.path(snapshot.id)} before running the "
        "job again"
    )


def _withdraw_if_table_is_another(table: Table, snapshot: Snapshot) -> None:
    """Remove our snapshot if another table has taken the name and the folder. Raises ConflictError
    if it has. This may happen where no folder can be held.
    """
    try:
        table.check_unchanged()
    except ConflictError:
        table.snapshots.withdraw(snapshot.id)
        OUTCOMES.forget(snapshot.commit_user)
        raise


def _stays(
    table: Table,
    snapshots: Snapshots,
    snapshot: Snapshot,
    base: Snapshot | None,
    error: OSError | None = None,
) -> bool:
    """Whether a snapshot that is there follows its base; if not, it is there no more."""
    try:
        return snapshots.stays(snapshot, base)
    except OSError as again:
        raise _unknown(table, snapshot, f"{error or again}", f"{again}") from again


def _happened(
    table: Table, snapshots: Snapshots, snapshot: Snapshot, error: OSError | None = None
) -> bool:
    """Whether a publishing call that failed, or was refused, published all the same."""
    failed = "another commit has its number" if error is None else f"{error}"
    try:
        found = snapshots.find(snapshot.id)
    except Exception as unreadable:
        raise _unknown(table, snapshot, failed, f"{unreadable}") from error or unreadable
    if found is None and isinstance(error, UnsettledError):
        raise _unknown(table, snapshot, failed, "it is not there yet") from error
    return found is not None and found.commit_user == snapshot.commit_user
