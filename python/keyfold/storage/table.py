"""A table at one schema version, as planning and committing use it.

The handle is what the JVM carries between questions: it names the table, its schema and the
snapshot it was loaded at, and holds the latter, so that all scans of one query read one snapshot:
another may have its number after a rollback.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from keyfold.errors import CorruptDataError, NotSupportedError
from keyfold.files import damage
from keyfold.files.column_mapping import stored_columns
from keyfold.lazy import cached_property
from keyfold.options.auto_cdc import as_seen
from keyfold.options.clusters import bucketing
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.storage import support
from keyfold.storage.jdbc.locks import lock_of
from keyfold.storage.metadata.entries import LAST_SEQUENCE, LiveFile, RowShapes, highest_sequence
from keyfold.storage.metadata.live_files import Asked, LiveFiles, schema_ids
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.snapshot_files import live_where, number_above, seen_where
from keyfold.storage.metadata.snapshots import Lock, Snapshot, Snapshots
from keyfold.storage.metadata.staged import StagedSnapshots, StagedState
from keyfold.storage.rest.data_tokens import of_table
from keyfold.storage.rest.tables import TableServer, server_of
from keyfold.storage.schema.kept_schemas import read_schema, stamp_of
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.schema.shown import column_json, shown_properties
from keyfold.stores.files import Files
from keyfold.stores.opened import open_files
from keyfold.stores.snapshot_folder import changed, check_unchanged, reading
from keyfold.wire.layout import TableLayout, home, sql_name
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import SchemaColumns

Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Table:
    """A loaded table; `snapshot_id` is the latest one at load, None without data."""

    files: Files
    catalog: str
    namespace: str
    table: str
    layout: TableLayout
    snapshot_id: int | None
    uuid: str = ""  # in a REST catalog, which publishes its snapshots
    server: TableServer | None = field(default=None, compare=False, repr=False)  # that publishes
    lock: Lock = field(default=contextlib.nullcontext, compare=False, repr=False)
    is_past: bool = False  # it was asked for as it was at `snapshot_id`, and is only read
    tag: str = ""  # the tag that keeps this snapshot
    staged: StagedState | None = field(default=None, compare=False, repr=False)  # of a transaction
    known: Snapshot | None = field(default=None, compare=False, repr=False)  # the one at load

    @cached_property
    def shapes(self) -> RowShapes:
        """Codecs of its manifest rows."""
        return RowShapes.of(self.layout)

    @cached_property
    def snapshots(self) -> Snapshots:
        publish = None if self.server is None else self.server.publish
        given = self.files, self.layout.home, publish, self.tag, self.lock
        return Snapshots(*given) if self.staged is None else StagedSnapshots(*given, self.staged)

    @cached_property
    def manifests(self) -> Manifests:
        written = None if self.staged is None else self.staged.manifests
        return Manifests(self.files, self.layout.location, self.shapes, written)

    @cached_property
    def options(self) -> TableOptions:
        return parse(self.layout)

    @property
    def schemas(self) -> Schemas:
        layout = self.layout
        return Schemas(self.files, layout.location, layout.name, layout.branch)

    def schema(self, schema_id: int) -> TableLayout:
        """The layout at another schema version."""
        if schema_id == self.layout.schema_id:
            return self.layout
        return read_schema(self.schemas, schema_id).layout

    def stored_schemas(self, files: Iterable[LiveFile]) -> dict[int, SchemaColumns]:
        """The columns of each older schema of files, which `stored_columns` has checked."""
        older = schema_ids(files) - {self.layout.schema_id}
        return {n: stored_columns(self.layout, self.schema(n)) for n in sorted(older)}

    def live_files(
        self,
        snapshot_id: int | None = None,
        partition_filter: Callable[[tuple[Any, ...]], bool] | None = None,
        bucket_filter: Callable[[int, int], bool] | None = None,
    ) -> list[LiveFile]:
        """Files of a snapshot (default: that of this handle). `partition_filter` gets the
        partition's values, `bucket_filter` the bucket and the number of those of the partition.
        """
        asked = replace(Asked.where(partition_filter), takes_bucket=bucket_filter)
        return self._where(snapshot_id, asked)[0].files()

    def live(self, snapshot_id: int | None = None, asked: Asked | None = None) -> LiveFiles:
        """The files of a snapshot (default: that of this handle), not objects yet."""
        return self._where(snapshot_id, asked or Asked())[0]

    def to_read(self, asked: Asked) -> tuple[LiveFiles, int]:
        """The files of this handle's snapshot that a read asks for, and the number of all. Raises
        NotSupportedError if one of them can't be read rightly.
        """
        found, total = self._where(None, asked)
        self._check_files(found)
        return found, total

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The snapshot of this handle, None without data. Raises as `Snapshots.read`."""
        known = self.known if self.staged is None else None
        if known is None or known.id != self.snapshot_id:
            return None if self.snapshot_id is None else self.snapshots.read(self.snapshot_id)
        if not self.tag and not self.snapshots.exists(known.id):
            raise self.snapshots.gone(known.id, job=known.commit_user)
        return known

    def at(self, snapshot: Snapshot) -> "Table":
        """The table at another snapshot."""
        return replace(self, snapshot_id=snapshot.id, known=snapshot)

    def _where(self, snapshot_id: int | None, asked: Asked) -> tuple[LiveFiles, int]:
        snapshot = self.snapshot if snapshot_id is None else self.snapshots.read(snapshot_id)
        if snapshot is None:
            return LiveFiles((), ()), 0
        with self.reading(snapshot):
            find = seen_where if self.options.bucket == POSTPONED else live_where
            return find(self.manifests, snapshot, asked)

    def reading(self, snapshot: Snapshot | None) -> AbstractContextManager[None]:
        """A context for reading files that the snapshot names (`snapshot_folder.reading`)."""
        return reading(self.layout, self.files, *self._names(snapshot).values())

    def _names(self, found: Snapshot | None, number: int | None = None) -> dict[str, Any]:
        number, job = (found.id, found.commit_user) if found else (number, "")
        if self.staged is not None:
            number, job = self.staged.named_by(number), ""
        return {"snapshot": number, "keeper": self.snapshots.keeper, "job": job}

    @property
    def named_by(self) -> dict[str, Any]:
        """The fields of a `ScanSpec` that say what names the files of this handle."""
        return self._names(self.snapshot)

    def reading_files(self) -> AbstractContextManager[None]:
        """A context for reading files of this handle's snapshot, which itself may have expired."""
        known = self.known if self.known and self.known.id == self.snapshot_id else None
        return reading(self.layout, self.files, *self._names(known, self.snapshot_id).values())

    def highest_sequence(self, snapshot_id: int | None = None) -> int:
        """A sequence number that none of any live file is above, -1 without data."""
        snapshot = self.snapshot if snapshot_id is None else self.snapshots.read(snapshot_id)
        if snapshot is None:
            return -1
        with self.reading(snapshot):
            found = number_above(self.manifests, snapshot, self.snapshots.find)
        if found < LAST_SEQUENCE:
            return found
        highest = self.live(snapshot_id).highest()  # the file of that number may be deleted
        return highest_sequence([] if highest is None else [highest])

    def check_format(self) -> None:
        """Raises NotSupportedError, naming the option, if we can't read the table rightly,
        whichever files it has.
        """
        support.check_readable(self.layout)
        _ = self.checked_snapshot

    def check_readable(self) -> None:
        """Raises NotSupportedError, naming option or file, if we can't read the table rightly."""
        self.check_format()
        self._check_files(self.live())

    def check_writable(self, *, rows: bool = False) -> None:
        """Raises NotSupportedError, naming why, if we can't write it, or its `rows`, rightly."""
        support.check_writable(self.layout, rows=rows)

    @property
    def unwritable(self) -> str | None:
        """The reason why the table can't be written, None if it can."""
        if self.is_past:
            return _of_the_past(self.layout.name, self.snapshot_id)
        try:
            support.check_writable(self.layout, rows=True)
        except NotSupportedError as error:
            return str(error)
        return None

    def check_rewritable(self) -> None:
        """Raises NotSupportedError if the rows of its files can't be written anew, whichever files
        it has; `to_read` checks those that it hands out.
        """
        support.check_writable(self.layout, rows=True)
        if (snapshot := self.checked_snapshot) is None:
            return
        with self.reading(snapshot):
            support.check_unmarked(self.layout, self.manifests, snapshot)

    @cached_property
    def checked_snapshot(self) -> Snapshot | None:
        """The snapshot of this handle, of a schema that is there."""
        snapshot = self.snapshot
        if snapshot is not None:
            self.check_schema_of(snapshot)
        return snapshot

    def _check_files(self, live: LiveFiles) -> None:
        is_ordered = self.options.snapshot_ordering
        found = live.without_suffix(support.SUFFIXES, or_source=is_ordered)
        support.check_files(self.layout, found)

    def check_schema_of(self, snapshot: Snapshot) -> None:
        """Raises CorruptDataError if a snapshot was written under a newer schema, which is lost."""
        if snapshot.schema_id > self.layout.schema_id:
            self.schemas.check_there(snapshot.schema_id)

    def check_unchanged(self) -> None:
        """Raises ConflictError if the table was dropped, replaced or renamed since it was
        loaded.
        """
        check_unchanged(self.layout, self.files)

    @contextlib.contextmanager
    def held(self) -> Iterator[str]:
        """A path to the table's home. It stays this table's if the table is renamed, dropped or
        replaced from here on. Raises ConflictError if that has happened before.
        """
        try:
            holding = self.files.held(self.layout.location)
            with holding as location:
                self.check_unchanged()
                yield home(location, self.layout.branch)
        except FileNotFoundError:
            self.check_unchanged()
            raise

    @cached_property
    def handle(self) -> dict[str, Any]:
        """JSON from which `open_handle` reopens this table at this schema and snapshot."""
        return {
            "catalog": self.catalog,
            "namespace": self.namespace,
            "table": self.table,
            "location": self.layout.location,
            "schema_id": self.layout.schema_id,
            "snapshot_id": self.snapshot_id,
            "known": None if self.known is None else self.known.as_read(),
            "identity": self.layout.identity,
            "uuid": self.uuid,
            "branch": self.layout.branch,
            "is_past": self.is_past,
            "tag": self.tag,
        }

    @property
    def _stores_alike(self) -> bool:
        """Whether a record that replaces a row is stored as that of a new row is."""
        found = self.options
        return found.engine.is_default and not found.sequence_fields and not found.rowkind_field

    @property
    def _deletes_partitions(self) -> bool:
        """Whether a DELETE may remove files in place of rows. Not if the rows that it removes have
        a place in the order, by which rows that come later are late.
        """
        return not self.options.orders_records

    @property
    def _version(self) -> str:
        made = "" if self.known is None else f":{self.known.delta_manifest_list}"
        return f"{self.layout.schema_id}:{self.snapshot_id or 0}{made}"

    @property
    def birth(self) -> str:
        """An id that stays if the table is altered, and changes if it is dropped and made anew."""
        return stamp_of(self.schemas, 0) or self.layout.identity

    def describe(self) -> dict[str, Any]:
        """The table as the JVM shows it to Spark (JSON)."""
        layout = as_seen(self.layout)
        return {
            "name": layout.name,
            "namespace": [self.namespace],
            "table": self.table,
            "id": self.birth,
            "version": self._version,
            "columns": [column_json(layout, column) for column in layout.columns],
            "primary_key": list(layout.primary_key),
            "partitioning": list(layout.partition_keys),
            "properties": shown_properties(layout),
            "leaves_others": self.options.engine.folds_columns or self.options.partial_insert,
            "stores_alike": self._stores_alike,
            "deletes_partitions": self._deletes_partitions,
            "bucketing": bucketing(layout, self.options),
            "handle": self.handle,
            "unwritable": self.unwritable,
        }


def reads_files(
    make: Callable[Concatenate[Table, Given], Made],
) -> Callable[Concatenate[Table, Given], Made]:
    """Wrap a function of a table that reads data files of its snapshot (`reading_files`)."""

    @functools.wraps(make)
    def reading_them(table: Table, /, *args: Given.args, **named: Given.kwargs) -> Made:
        with table.reading_files():
            return make(table, *args, **named)

    return reading_them


def load(
    files: Files, location: str, catalog: str, namespace: str, table: str, branch: str = ""
) -> Table | None:
    """The table at `location`, or a branch of it, at its latest schema and snapshot; None if it
    does not exist.
    """
    files = files.within(location)
    schemas = Schemas(files, location, sql_name(catalog, namespace, table), branch)
    # The snapshot is read first: the schemas of all its files exist by then.
    try:
        snapshot_id, known = Snapshots(files, home(location, branch)).newest()
    except CorruptDataError:
        if schemas.latest_id() is not None:
            raise
        snapshot_id, known = None, None  # it is being dropped
    schema_id = schemas.latest_id()
    if schema_id is None:
        if snapshot_id is not None and files.is_local and not branch:
            raise damage.without_schemas(schemas.folder, schemas.name, snapshot_id)
        return None
    layout = read_schema(schemas, schema_id).layout
    return Table(files, catalog, namespace, table, layout, snapshot_id, known=known)


def open_handle(
    handle: Mapping[str, Any], catalog_options: Mapping[str, str], *, latest: bool = False
) -> Table:
    """The table of a handle. Raises ConflictError if it was dropped or replaced since.

    `latest` looks up the newest snapshot (a write is planned on it) instead of the handle's. Raises
    NotSupportedError for a table of the past, which can't be written.
    """
    path = handle["catalog"], handle["namespace"], handle["table"]
    uuid, tag = handle.get("uuid", ""), handle.get("tag", "")
    files, location = open_files(handle["location"], of_table(catalog_options, *path[1:], uuid))
    files = files.within(location)
    branch, is_past = handle.get("branch", ""), handle.get("is_past", False)
    schemas = Schemas(files, location, sql_name(*path), branch)
    if is_past and latest:
        raise NotSupportedError(_of_the_past(schemas.name, handle["snapshot_id"]))
    if stamp_of(schemas, handle["schema_id"]) != handle["identity"]:
        raise changed(schemas.name)
    layout = read_schema(schemas, handle["schema_id"]).layout
    snapshot_id = Snapshots(files, layout.home).latest_id() if latest else handle["snapshot_id"]
    stored = None if latest else handle.get("known")
    known = None if stored is None else Snapshot.from_json(stored)
    server = server_of(catalog_options, *path[1:], uuid)
    lock = lock_of(catalog_options, location, *path[1:])
    return Table(files, *path, layout, snapshot_id, uuid, server, lock, is_past, tag, known=known)


def open_newest(handle: Mapping[str, Any], catalog_options: Mapping[str, str]) -> Table:
    """The table of a handle at its newest snapshot and schema, for jobs that write stored rows
    again. Under an older schema the rows would lose columns that were added since.
    """
    return newest_schema(open_handle(handle, catalog_options, latest=True))


def newest_schema(table: Table) -> Table:
    """The table at its newest schema. Raises ConflictError if it was dropped."""
    newest = table.schemas.latest_id()
    if newest is None:
        raise changed(table.layout.name)
    return replace(table, layout=read_schema(table.schemas, newest).layout)


def _of_the_past(name: str, snapshot_id: int | None) -> str:
    return (
        f"table {name} can't be written as it was at snapshot {snapshot_id}: write the table "
        "itself, a branch made from a tag, or roll the table back"
    )
