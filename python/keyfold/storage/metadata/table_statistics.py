"""Statistics of a table and its columns, as `ANALYZE` of Paimon stores them: one JSON file, which a
snapshot names. Later snapshots name it too, until the table is analyzed again.

The least and greatest value are kept for numbers, dates and times only. They are text, as Java
writes them: DATE as a number of days, times in UTC.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from keyfold.storage.metadata.avro_records import check_record, is_long, is_text
from keyfold.storage.metadata.documents import read_as
from keyfold.stores.files import Files
from keyfold.types import java_text
from keyfold.types.literals import FLOATING, WHOLE
from keyfold.types.logical import Atomic, DataType, name_of
from keyfold.types.type_table import TIMES, Family, of_family
from keyfold.types.value_text import in_folder

_FOLDER = "statistics"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_TYPES = {*WHOLE, *FLOATING, *of_family(Family.BOOLEAN, Family.DECIMAL)}
_COLUMN = {
    "distinctCount": is_long,
    "min": is_text,
    "max": is_text,
    "nullCount": is_long,
    "avgLen": is_long,
    "maxLen": is_long,
}


@dataclass(frozen=True)
class ColumnStatistics:
    """The statistics of one column, by its id; None is unknown. `low` and `high` are text."""

    id: int
    distinct: int | None = None
    low: str | None = None
    high: str | None = None
    nulls: int | None = None
    average_bytes: int | None = None
    most_bytes: int | None = None


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of the table at a snapshot: merged rows, their size, and columns by name."""

    snapshot_id: int
    schema_id: int
    rows: int | None
    bytes: int | None
    columns: Mapping[str, ColumnStatistics]

    def to_json(self) -> dict[str, Any]:
        """The content of its file; what is unknown is left out."""
        return {
            "snapshotId": self.snapshot_id,
            "schemaId": self.schema_id,
            **_known({"mergedRecordCount": self.rows, "mergedRecordSize": self.bytes}),
            "colStats": self.columns_json(),
        }

    def columns_json(self) -> dict[str, Any]:
        """The columns as they are stored."""
        return {name: _column_json(column) for name, column in self.columns.items()}

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> TableStatistics:
        """The statistics of a file. Raises KeyError or TypeError if it is of no such kind."""
        check_record(
            stored,
            {"snapshotId": is_long, "schemaId": is_long},
            {"mergedRecordCount": is_long, "mergedRecordSize": is_long},
        )
        columns = {name: _column(found) for name, found in (stored.get("colStats") or {}).items()}
        rows, size = stored.get("mergedRecordCount"), stored.get("mergedRecordSize")
        return TableStatistics(stored["snapshotId"], stored["schemaId"], rows, size, columns)


def read(files: Files, location: str, name: str) -> TableStatistics | None:
    """The statistics that a snapshot names; None if the file is gone. Raises CorruptDataError if it
    can't be understood.
    """
    return read_as(files, path_of(location, name), "statistics", TableStatistics.from_json)


def new_name() -> str:
    return f"stat-{uuid.uuid4()}-0"


def path_of(location: str, name: str) -> str:
    return f"{location}/{_FOLDER}/{name}"


def text_of(value: Any, kind: DataType) -> str | None:
    """A manifest value as these files hold it; None if they don't hold values of the type."""
    name = name_of(kind)
    if value is None or name not in _TYPES:
        return None
    if name in TIMES:
        return java_text.iso_time(int(value)).replace("T", " ")
    return in_folder(value, kind, is_legacy=True)


def number_of(text: str | None, kind: DataType) -> str | None:
    """The number of a text, of a TIMESTAMP its microseconds; None if it has no such form."""
    if text is None or name_of(kind) not in TIMES:
        units = kind.facts.sparks_units if isinstance(kind, Atomic) else 1
        return text if text is None or units == 1 else str(int(text) * units)
    try:
        found = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return str((found - _EPOCH) // datetime.timedelta(microseconds=1))


def _column(stored: Mapping[str, Any]) -> ColumnStatistics:
    check_record(stored, {"colId": is_long}, _COLUMN)
    return ColumnStatistics(stored["colId"], *(stored.get(name) for name in _COLUMN))


def _column_json(column: ColumnStatistics) -> dict[str, Any]:
    own, *values = astuple(column)
    return {"colId": own, **_known(dict(zip(_COLUMN, values, strict=True)))}


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
