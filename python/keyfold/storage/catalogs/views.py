"""Views: the text of a query, with what names and values in it mean.

They are stored in the form of Paimon's REST catalogs, whose protocol has a place for them. What
only Spark needs is in options that begin with `keyfold.view.`; a view without them is another
engine's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from keyfold.errors import (
    KeyfoldError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.namespaces import check_name
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.wire.layout import Column, quoted

CREATE, REPLACE, CREATE_OR_REPLACE = "create", "replace", "create_or_replace"
DIALECT = "spark"
_OWN = "keyfold.view."  # options of ours begin so
_CONFIG = f"{_OWN}config."  # and those that keep a setting of the session


@dataclass(frozen=True)
class StoredView:
    """A view as its catalog has it: the query, and the columns that it gives.

    Names in the query are those of `current_catalog` and `current_namespace`; `settings` are the
    session's when the view was made. `query_columns` are the query's own names of the columns.
    """

    name: str
    query: str
    columns: tuple[Column, ...]
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    current_catalog: str | None = None
    current_namespace: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    schema_mode: str | None = None
    query_columns: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The columns as Arrow has them."""
        return pa.schema([column.arrow_field for column in self.columns])


def new_view(name: str, said: Mapping[str, Any]) -> StoredView:
    """The view that a statement defines, as Spark has parsed it. Raises TableError or
    NotSupportedError if it can't be stored.
    """
    properties = dict(said["properties"])
    comment = properties.pop("comment", None)
    for option in properties:
        if option.startswith(_OWN):
            raise TableError(f"view {name}: properties {_OWN}… are the catalog's own: {option}")
    columns = tuple(_column(name, place, one) for place, one in enumerate(said["columns"]))
    return StoredView(
        name,
        said["query"],
        columns,
        comment,
        properties,
        said["current_catalog"],
        tuple(said["current_namespace"] or ()),
        dict(said["settings"] or {}),
        said["schema_mode"],
        tuple(said["query_columns"] or ()),
    )


def _column(view: str, place: int, said: Mapping[str, Any]) -> Column:
    try:
        kind = spark_types.from_spark(said["type"], said.get("nullable", True))
    except NotSupportedError as error:
        raise NotSupportedError(
            f"view {view}, column {said['name']}: {error}; CAST it in the query"
        ) from None
    return Column(place, said["name"], kind, said.get("comment"))


def to_json(view: StoredView) -> dict[str, Any]:
    """The view in the form of Paimon's REST catalogs (ViewSchema)."""
    own = {
        "current-catalog": view.current_catalog,
        "current-namespace": json.dumps(view.current_namespace),
        "schema-mode": view.schema_mode,
        "query-columns": json.dumps(view.query_columns),
    }
    options = {**view.properties}
    options |= {_OWN + name: text for name, text in own.items() if text is not None}
    options |= {_CONFIG + name: text for name, text in view.settings.items()}
    found = {
        "fields": [_field(column) for column in view.columns],
        "query": view.query,
        "dialects": {DIALECT: view.query},
        "options": options,
    }
    return found if view.comment is None else {**found, "comment": view.comment}


def _field(column: Column) -> dict[str, Any]:
    kind = paimon_types.to_paimon(column.type)
    plain = {"id": column.id, "name": column.name, "type": kind}
    return plain if column.comment is None else {**plain, "description": column.comment}


def from_json(name: str, catalog: str, namespace: str, found: Mapping[str, Any]) -> StoredView:
    """The inverse of `to_json`. Names in the query of another engine's view are those of the
    view's own catalog and namespace, and its columns count by their places.
    """
    options = {str(k): str(v) for k, v in (found.get("options") or {}).items()}
    own = {k.removeprefix(_OWN): v for k, v in options.items() if k.startswith(_OWN)}
    columns = tuple(
        Column(one["id"], one["name"], _type(name, one), one.get("description"))
        for one in found["fields"]
    )
    query = (found.get("dialects") or {}).get(DIALECT) or found["query"]
    properties = {k: v for k, v in options.items() if not k.startswith(_OWN)}
    comment = found.get("comment")
    if "query-columns" not in own:
        named = ", ".join(quoted(column.name) for column in columns)
        # On lines of its own, as it may end with a comment.
        by_place = f"SELECT * FROM (\n{query.rstrip().rstrip(';')}\n) AS {quoted('v')}({named})"
        own_names = tuple(column.name for column in columns)
        return StoredView(
            name, by_place, columns, comment, properties, catalog, (namespace,), {}, None, own_names
        )
    config = _CONFIG.removeprefix(_OWN)
    return StoredView(
        name,
        query,
        columns,
        comment,
        properties,
        own.get("current-catalog"),
        tuple(json.loads(own["current-namespace"])),
        {k.removeprefix(config): v for k, v in own.items() if k.startswith(config)},
        own.get("schema-mode"),
        tuple(json.loads(own["query-columns"])),
    )


def _type(view: str, found: Mapping[str, Any]) -> logical.DataType:
    try:
        return paimon_types.from_paimon(found["type"])
    except KeyfoldError as error:
        raise type(error)(f"view {view}, column {found['name']}: {error}") from None


def missing_table(shown: str, *, is_view: bool) -> NoSuchTableError:
    """The error: there is no table of that name."""
    hint = f": {shown} is a view; in Python catalog.view shows its query" if is_view else ""
    return NoSuchTableError(f"table {shown} does not exist{hint}")


def missing_view(shown: str, *, is_table: bool) -> NoSuchTableError:
    """The error: there is no view of that name."""
    hint = f": {shown} is a table" if is_table else ""
    return NoSuchTableError(f"view {shown} does not exist{hint}")


def taken(kind: str, shown: str) -> TableExistsError:
    """The error: a name is that of a table or a view already, which share their names."""
    return TableExistsError(f"{kind} {shown} exists")


def may_be(name: str) -> bool:
    """Whether a view may have that name."""
    try:
        check_name("view", name)
    except TableError:
        return False
    return True
