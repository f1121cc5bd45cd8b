"""Schema files of a table: JSON to and from a `TableLayout`, and publishing the next version.

A column's DEFAULT is kept twice: in Paimon's `defaultValue` (see defaults.py), which its engines
apply, and as exact SQL text in the option `keyfold.default.<column>`, which counts here. The option
`keyfold.initial-default.<column>` has the value of rows stored before the column was added.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyfold.errors import ConflictError, KeyfoldError
from keyfold.files import damage
from keyfold.options.declared import DEFAULT_PREFIX, INITIAL_PREFIX
from keyfold.storage.metadata.avro_records import check_schema
from keyfold.storage.metadata.documents import document, text_of
from keyfold.stores.files import Files
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout, home

_NAME = re.compile(r"schema-([0-9]{1,18})")
_VERSION = 3
_TRIES = 20


@dataclass(frozen=True)
class StoredSchema:
    """One schema file: the layout, the greatest field id ever given out, and literal defaults."""

    layout: TableLayout
    highest_field_id: int
    literals: Mapping[str, str]


@dataclass(frozen=True)
class Schemas:
    """The schema folder of the table `name` at `location`, or of a branch of it."""

    files: Files
    location: str
    name: str
    branch: str = ""

    @property
    def folder(self) -> str:
        return f"{home(self.location, self.branch)}/schema"

    def path(self, schema_id: int) -> str:
        """The path at which the schema of that id is published."""
        return f"{self.folder}/schema-{schema_id}"

    def ids(self) -> list[int]:
        """Ids of all schemas, in no order."""
        names = self.files.names(self.folder)
        return [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]

    def latest_id(self) -> int | None:
        """Id of the current schema, None if this is not a table."""
        return max(self.ids(), default=None)

    def check_there(self, schema_id: int) -> None:
        """Raises CorruptDataError if a schema that something was written under is missing."""
        if not self.files.exists(self.path(schema_id)):
            raise damage.schema_file(self.path(schema_id), self.name, "it is missing")

    def read(self, schema_id: int) -> StoredSchema:
        """The schema of that id; an unsupported type is refused, naming table and column."""
        path = self.path(schema_id)
        try:
            found = _from_json(document(self.files.read(path)), self.name, self.location)
        except KeyfoldError:
            raise
        except FileNotFoundError as error:
            raise damage.schema_file(path, self.name, "it is missing") from error
        except (ValueError, LookupError, TypeError, AttributeError, IsADirectoryError) as error:
            raise damage.schema_file(path, self.name, repr(error)) from error
        return replace(found, layout=replace(found.layout, branch=self.branch))

    def change(self, doing: str, changed: Callable[[StoredSchema], StoredSchema]) -> StoredSchema:
        """Publish what `changed` makes of the newest schema as the next one, anew if another change
        comes in between; nothing if it gives the same object. Returns the schema that was changed.
        """
        for _ in range(_TRIES):
            schema_id = self.latest_id()
            if schema_id is None:
                raise ConflictError(f"table {self.name} was dropped during {doing}")
            found = self.read(schema_id)
            made = changed(found)
            following = replace(made.layout, schema_id=schema_id + 1)
            if made is found or self.publish(replace(made, layout=following)):
                return found
        raise ConflictError(
            f"table {self.name}: other ALTER TABLE statements came first; run {doing} again"
        )

    def publish(self, schema: StoredSchema) -> bool:
        """Publish exclusively; False if another change took the id."""
        path = self.path(schema.layout.schema_id)
        return self.files.publish(path, text_of(as_json(schema))) > 0


def _from_json(found: Mapping[str, Any], name: str, location: str) -> StoredSchema:
    check_schema(found)
    options = dict(found.get("options") or {})
    version = found.get("version") or 1
    if version < 2:
        options.setdefault("bucket", "1")
    if version < _VERSION:
        options.setdefault("file.format", "orc")
    layout = TableLayout(
        name=name,
        location=location,
        schema_id=found["id"],
        columns=tuple(_column(f, options, name) for f in found["fields"]),
        primary_key=tuple(found["primaryKeys"]),
        partition_keys=tuple(found["partitionKeys"]),
        options=options,
        comment=found.get("comment") or None,
    )
    literals = {f["name"]: f["defaultValue"] for f in found["fields"] if f.get("defaultValue")}
    return StoredSchema(layout, found["highestFieldId"], literals)


def _column(found: Mapping[str, Any], options: Mapping[str, str], table: str) -> Column:
    try:
        data_type = paimon_types.from_paimon(found["type"])
        paimon_types.check_storable(data_type, found["name"], by_others=True)
    except KeyfoldError as error:
        raise type(error)(f"table {table}, column {found['name']}: {error}") from None
    default = options.get(DEFAULT_PREFIX + found["name"])
    if default is None:
        default = found.get("defaultValue")
    initial = options.get(INITIAL_PREFIX + found["name"])
    return Column(found["id"], found["name"], data_type, found.get("description"), default, initial)


def as_json(schema: StoredSchema) -> dict[str, Any]:
    """The schema as its file has it."""
    layout = schema.layout
    plain = {
        "version": _VERSION,
        "id": layout.schema_id,
        "fields": [_field_json(column, schema.literals) for column in layout.columns],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": list(layout.partition_keys),
        "primaryKeys": list(layout.primary_key),
        "options": dict(layout.options),
        "timeMillis": int(time.time() * 1000),
    }
    return plain if layout.comment is None else {**plain, "comment": layout.comment}


def _field_json(column: Column, literals: Mapping[str, str]) -> dict[str, Any]:
    plain = {"id": column.id, "name": column.name, "type": paimon_types.to_paimon(column.type)}
    extra = {"description": column.comment, "defaultValue": literals.get(column.name)}
    return plain | {name: value for name, value in extra.items() if value is not None}
