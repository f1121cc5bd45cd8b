"""Metadata tables of a table's history and names: snapshots, schemas, options, tags, branches,
consumers, statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from keyfold.files import damage
from keyfold.read.metadata.metadata_table import MetadataTable, columns
from keyfold.read.metadata.texts import compact
from keyfold.storage.branching import branches
from keyfold.storage.history import tags
from keyfold.storage.history.tags import Tag
from keyfold.storage.maintenance import consumers
from keyfold.storage.metadata import table_statistics
from keyfold.storage.metadata.avro_records import check_schema
from keyfold.storage.metadata.documents import document
from keyfold.storage.table import Table

Json = Mapping[str, Any]


def _snapshots(table: Table) -> Iterator[Any]:
    """The snapshots up to the one the table was loaded at, without any that expires meanwhile."""
    for number in sorted(table.snapshots.ids()):
        if number <= (table.snapshot_id or 0):
            found = table.snapshots.find(number)
            if found is not None:
                yield found


def _statistics(table: Table) -> Iterator[Any]:
    """The statistics that the snapshot names, if it names any."""
    name = None if table.snapshot is None else table.snapshot.statistics
    found = name and table_statistics.read(table.files, table.layout.location, name)
    if found:
        yield found


STATISTICS = MetadataTable(
    "statistics",
    columns(
        ("snapshot_id", "BIGINT NOT NULL", attrgetter("snapshot_id")),
        ("schema_id", "BIGINT NOT NULL", attrgetter("schema_id")),
        ("mergedRecordCount", "BIGINT NOT NULL", lambda found: found.rows or 0),
        ("mergedRecordSize", "BIGINT NOT NULL", lambda found: found.bytes or 0),
        ("colstat", "STRING", lambda found: compact(found.columns_json())),
    ),
    _statistics,
)
SNAPSHOTS = MetadataTable(
    "snapshots",
    columns(
        ("snapshot_id", "BIGINT NOT NULL", attrgetter("id")),
        ("schema_id", "BIGINT NOT NULL", attrgetter("schema_id")),
        ("commit_user", "STRING NOT NULL", attrgetter("commit_user")),
        ("commit_identifier", "BIGINT NOT NULL", attrgetter("commit_identifier")),
        ("commit_kind", "STRING NOT NULL", attrgetter("commit_kind")),
        ("commit_time", "TIMESTAMP(3) NOT NULL", attrgetter("time_millis")),
        ("base_manifest_list", "STRING NOT NULL", attrgetter("base_manifest_list")),
        ("delta_manifest_list", "STRING NOT NULL", attrgetter("delta_manifest_list")),
        ("changelog_manifest_list", "STRING", attrgetter("changelog_manifest_list")),
        ("total_record_count", "BIGINT", attrgetter("total_record_count")),
        ("delta_record_count", "BIGINT", attrgetter("delta_record_count")),
        ("changelog_record_count", "BIGINT", attrgetter("changelog_record_count")),
        ("watermark", "BIGINT", attrgetter("watermark")),
        ("next_row_id", "BIGINT", attrgetter("next_row_id")),
        ("writer_version", "STRING", attrgetter("writer_version")),
        ("statement", "STRING", attrgetter("statement")),
    ),
    _snapshots,
)


def _schemas(table: Table) -> Iterator[Json]:
    """The schema files as JSON, without any that is removed meanwhile."""
    for number in sorted(table.schemas.ids()):
        where = table.schemas.path(number)
        try:
            found: Json = document(table.files.read(where))
            check_schema(found)
        except FileNotFoundError:
            continue
        except (ValueError, TypeError, LookupError) as error:
            raise damage.metadata_file("file", where, repr(error)) from error
        yield found


SCHEMAS = MetadataTable(
    "schemas",
    columns(
        ("schema_id", "BIGINT NOT NULL", itemgetter("id")),
        ("fields", "STRING NOT NULL", lambda schema: compact(schema["fields"])),
        ("partition_keys", "STRING NOT NULL", lambda schema: compact(schema["partitionKeys"])),
        ("primary_keys", "STRING NOT NULL", lambda schema: compact(schema["primaryKeys"])),
        ("options", "STRING NOT NULL", lambda schema: compact(schema.get("options") or {})),
        ("comment", "STRING", lambda schema: schema.get("comment") or None),
        ("update_time", "TIMESTAMP(3) NOT NULL", lambda schema: schema.get("timeMillis", 0)),
    ),
    _schemas,
)

OPTIONS = MetadataTable(
    "options",
    columns(("key", "STRING NOT NULL", itemgetter(0)), ("value", "STRING NOT NULL", itemgetter(1))),
    lambda table: sorted(table.layout.options.items()),
)


def _tag_retained(tag: Tag) -> str | None:
    """The seconds as Java's Duration prints them: PT26H3M4.5S."""
    if tag.retained is None:
        return None
    minutes, rest = divmod(tag.retained, 60)
    hours, left = divmod(int(minutes), 60)
    parts = [f"{hours}H" * bool(hours), f"{left}M" * bool(left), f"{rest:g}S" * bool(rest)]
    return "PT" + ("".join(parts) or "0S")


TAGS = MetadataTable(
    "tags",
    columns(
        ("tag_name", "STRING NOT NULL", attrgetter("name")),
        ("snapshot_id", "BIGINT NOT NULL", attrgetter("snapshot.id")),
        ("schema_id", "BIGINT NOT NULL", attrgetter("snapshot.schema_id")),
        ("commit_time", "TIMESTAMP(3) NOT NULL", attrgetter("snapshot.time_millis")),
        ("record_count", "BIGINT", attrgetter("snapshot.total_record_count")),
        ("create_time", "TIMESTAMP(3)", attrgetter("created")),
        ("time_retained", "STRING", _tag_retained),
    ),
    tags.all_of,
)


def _branches(table: Table) -> Iterator[tuple[str, int]]:
    """Names of branches and the times their folders changed; 1970 if the store is not local."""
    for name in branches.names(table):
        path = Path(f"{table.layout.location}/branch/branch-{name}")
        yield name, int(path.lstat().st_mtime * 1000) if table.files.is_local else 0


BRANCHES = MetadataTable(
    "branches",
    columns(
        ("branch_name", "STRING NOT NULL", itemgetter(0)),
        ("create_time", "TIMESTAMP(3) NOT NULL", itemgetter(1)),
    ),
    _branches,
)


def _consumers(table: Table) -> Iterator[tuple[str, int]]:
    for name in consumers.names(table):
        found = consumers.position(table, name)
        if found is not None:
            yield name, found.following


CONSUMERS = MetadataTable(
    "consumers",
    columns(
        ("consumer_id", "STRING NOT NULL", itemgetter(0)),
        ("next_snapshot_id", "BIGINT NOT NULL", itemgetter(1)),
    ),
    _consumers,
)
