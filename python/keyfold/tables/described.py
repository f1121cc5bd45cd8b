"""A table as it is: its columns, key and options, the state of its files, its metadata tables."""

from __future__ import annotations

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.procedures.check import CHECK_TABLE
from keyfold.procedures.health import TABLE_HEALTH
from keyfold.read import metadata
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.path_tables import NAMELESS
from keyfold.storage.table import Table as Loaded
from keyfold.tables import calls
from keyfold.tables.doors import doors
from keyfold.tables.session import Session
from keyfold.types.logical import describe
from keyfold.wire.layout import TableLayout, sql_name

UTC = "UTC"


@doors(lambda table: f"table {table.name}")
class Described:
    """A table by its name or path, as it is now."""

    def __init__(self, session: Session, namespace: str, name: str) -> None:
        self._session = session
        self._namespace, self._name = namespace, name

    def __repr__(self) -> str:
        return f"<keyfold table {self.name}>"

    # ---- what it is ----

    @property
    def name(self) -> str:
        """Its full name in SQL; of a table by path, the path."""
        if self._namespace == NAMELESS:
            return self._name
        return sql_name(self._session.name, self._namespace, self._name)

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self._layout.arrow_schema

    @property
    def columns(self) -> dict[str, str]:
        """The SQL type of each column, with NOT NULL."""
        return {
            column.name: describe(column.type) + ("" if column.type.nullable else " NOT NULL")
            for column in self._layout.columns
        }

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of its primary key, those of its partitions among them."""
        return self._layout.primary_key

    @property
    def partitions(self) -> tuple[str, ...]:
        """The columns that it is partitioned by."""
        return self._layout.partition_keys

    @property
    def options(self) -> dict[str, str]:
        """Its options, as they are stored."""
        return dict(self._layout.options)

    @property
    def comment(self) -> str | None:
        """Its comment."""
        return self._layout.comment

    @property
    def location(self) -> str:
        """Its folder."""
        return self._layout.location

    @property
    def snapshot(self) -> int | None:
        """The id of its newest snapshot; None if nothing was ever written."""
        return self._load().snapshot_id

    @property
    def _layout(self) -> TableLayout:
        return self._load().layout

    @property
    def _catalog(self) -> Catalog:
        return self._session.holder(self._namespace, self._name)

    def _load(self) -> Loaded:
        with self._session.working():
            return self._catalog.load_table([self._namespace], self._name)

    # ---- look at it ----

    def health(self) -> pa.Table:
        """The runs, files, bytes and rows of each bucket, what a read of it costs, and advice."""
        found = calls.rows(self._session, self._load, TABLE_HEALTH)
        return calls.table_of(TABLE_HEALTH, found)

    def check(self, *, pages: bool = False, history: bool = False) -> list[str]:
        """The problems with its files, as `CALL sys.check_table` finds them; an empty list if all
        that the newest snapshot names is there and as long as it should be.

        Args:
            pages: Read every byte, and compare checksums.
            history: Look at all snapshots that are kept, and at their changelogs.
        """
        (row,) = calls.rows(self._session, self._load, CHECK_TABLE, pages=pages, history=history)
        return list(row["problems"])

    def metadata(self, name: str, zone: str = UTC) -> pa.Table:
        """The rows of a metadata table: snapshots, files, options, partitions, buckets, schemas,
        manifests, tags … Points in time have a zone, UTC unless another is named.
        """
        found = metadata.ALL.get(name)
        if found is None:
            raise TableError(metadata.unknown(self.name, name, metadata.ALL))
        kind = self._time_of(zone)
        names = [column.name for column in found.columns]
        schema = pa.schema([column.field for column in found.columns])
        rows = pa.Table.from_batches(found.batches(self._load(), names, UTC), schema)
        zoned = [c.field.with_type(kind) if c.is_instant else c.field for c in found.columns]
        return rows.cast(pa.schema(zoned))

    def _time_of(self, zone: str) -> pa.TimestampType:
        kind = pa.timestamp("us", zone or "none")
        try:
            pa.scalar(0, kind).as_py()
        except (ValueError, LookupError, pa.ArrowException):
            raise TableError(
                f"metadata of table {self.name}: zone is '{zone:.100}'; expected a time zone such "
                "as UTC, Europe/Paris or +02:00"
            ) from None
        return kind

    def snapshots(self, zone: str = UTC) -> pa.Table:
        """Its snapshots; `commit_time` is what `scan(timestamp=…)` takes."""
        return self.metadata("snapshots", zone)

    def files(self) -> pa.Table:
        """The data files of the newest snapshot."""
        return self.metadata("files")
