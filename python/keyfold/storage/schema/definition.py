"""CREATE TABLE: from Spark's columns, key and properties to the first schema of a table.

Everything that can't work is refused here, and nothing later. Errors name table, column or option.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.options import auto_cdc, fluss
from keyfold.options.checks import check_change, check_create
from keyfold.options.declared import DEFAULT_BUCKETS, DEFAULT_PREFIX, INITIAL_PREFIX
from keyfold.options.names import normalize
from keyfold.options.unparsed import KEY_NULLABLE
from keyfold.storage.schema.column_references import spelling_of
from keyfold.storage.schema.defaults import stored_text
from keyfold.storage.schema.schemas import StoredSchema
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.wire.codec import Wire
from keyfold.wire.layout import Column, TableLayout

_RESERVED = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "_ORDINAL", "rowkind"}
_RESERVED |= {"_NAMED", "_OVERWRITTEN"}  # the marks of partial and overwriting writes
# Fluss', and partly those of Spark's change queries.
_RESERVED |= {"_change_type", "_commit_version", "_commit_timestamp"}
_RESERVED |= {"_log_offset", "__offset", "__timestamp", "__bucket"}

# Checks a layout, new or after an ALTER of the second, and gives it with options as stored.
Check = Callable[[TableLayout, TableLayout | None], TableLayout]


@dataclass(frozen=True)
class NewTable(Wire):
    """A CREATE or REPLACE statement; `columns` are dictionaries of the wire (Spark type JSON).

    With `keeps` it has only the changes to the table that it replaces.
    """

    columns: Sequence[Mapping[str, Any]]
    partitioning: tuple[str, ...] = ()
    primary_key: tuple[str, ...] | None = None
    properties: Mapping[str, str] | None = None
    keeps: bool = False


def define(name: str, location: str, new: NewTable, check_engine: Check) -> StoredSchema:
    """The first schema of the table. Raises TableError or NotSupportedError if it can't work.

    `check_engine` is the merge engine's own check (`keyfold.merge.plan.check`).
    """
    properties = dict(new.properties or {})
    comment = properties.pop("comment", None)
    _check_location(name, location, properties)
    _check_own(name, properties)
    given = new.columns
    if auto_cdc.keeps_versions(properties):
        given = auto_cdc.with_field_in_key(name, given)
    own = spelling_of(column["name"] for column in given)
    properties = fluss.heeded(properties, {c["name"].lower() for c in given})
    key = own.of(_primary_key(name, new, properties))
    partitioning = own.of(new.partitioning)
    spans = bool(key) and not {*partitioning} <= {*key}
    buckets = -1 if spans else DEFAULT_BUCKETS
    options = {"bucket": str(buckets)} | own.in_options(normalize(properties))
    options |= auto_cdc.bucketing([c["name"] for c in given], key, partitioning, options)
    ids = itertools.count()
    # Paimon's rule: the option decides for every key column, whatever its declaration says (Spark
    # makes the columns of a PRIMARY KEY clause NOT NULL before anyone else sees them).
    nullable = dict.fromkeys(key, options.get(KEY_NULLABLE.name, "").strip().lower() == "true")
    columns = tuple(
        new_column(name, {**column, "nullable": nullable[column["name"]]}, ids)
        if column["name"] in nullable
        else new_column(name, column, ids)
        for column in given
    )
    kinds = {column.name: column.type for column in columns}
    fluss.check_functions(name, properties, kinds, key)
    defaults = {DEFAULT_PREFIX + c.name: c.default for c in columns if c.default is not None}
    options |= defaults
    if key:
        others = [column for column in columns if column.name not in key]
        options |= fluss.inserts(properties, options, (_may_lack(c) for c in others))
    layout = TableLayout(name, location, 0, columns, key, partitioning, options, comment or None)
    _check_columns(layout)
    check_create(layout)
    settled = check_engine(layout, None)
    return StoredSchema(settled, next(ids) - 1, _literals(given, settled))


def _may_lack(column: Column) -> bool:
    return column.type.nullable and column.default is None


def check_altered(before: TableLayout, after: TableLayout, check_engine: Check) -> TableLayout:
    """The layout to store after an ALTER, which must pass the checks of CREATE."""
    _check_columns(after, frozenset(column.name for column in before.columns))
    check_change(before, after)
    return check_engine(after, before)


def _check_location(name: str, location: str, properties: dict[str, str]) -> None:
    if properties.get("external", "false").lower() == "true":
        raise NotSupportedError(
            f"table {name}: EXTERNAL is not supported: DROP deletes a table's files; leave it out"
        )
    path = properties.pop("path", None)  # DataFrames' word for it
    wanted = properties.get("location") or path
    if wanted is not None and wanted.removeprefix("file:").rstrip("/") != location:
        raise NotSupportedError(
            f"table {name}: LOCATION {wanted} is not supported; tables of this catalog lie below "
            f"its warehouse, this one at {location}"
        )


def listed(text: str | None) -> tuple[str, ...] | None:
    """The names in a property, between commas; None if it is not given."""
    return None if text is None else tuple(p.strip() for p in text.split(",") if p.strip())


def named_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The primary key that properties name, if they do. Raises TableError if Spark's list of them
    can't be read.
    """
    return auto_cdc.row_key(properties) or listed(properties.get("primary-key"))


def _check_own(name: str, properties: Mapping[str, str]) -> None:
    """Raises TableError if an option is one in which the catalog keeps a column's DEFAULT."""
    for option in properties:
        if option.startswith((DEFAULT_PREFIX, INITIAL_PREFIX)):
            raise TableError(f"table {name}: option {option} is made by a column's DEFAULT only")


def _primary_key(name: str, new: NewTable, properties: dict[str, str]) -> tuple[str, ...]:
    named = named_key(properties)
    properties.pop("primary-key", None)
    if named is not None and new.primary_key is not None and named != new.primary_key:
        raise TableError(
            f"table {name}: PRIMARY KEY ({', '.join(new.primary_key)}) and property primary-key "
            f"({', '.join(named)}) differ"
        )
    return new.primary_key or named or ()


def new_column(table: str, json: Mapping[str, Any], ids: Iterator[int]) -> Column:
    """A column with ids drawn from `ids`: its own, then those of its nested fields."""
    name = json["name"]
    column_id = next(ids)
    try:
        parsed = spark_types.from_spark(json["type"], json.get("nullable", True))
        paimon_types.check_storable(parsed, name)
    except KeyfoldError as error:
        text = str(error).removeprefix(f"column {name}: ")
        raise type(error)(f"table {table}, column {name}: {text}") from None
    data_type = logical.assign_ids(parsed, lambda: next(ids))
    return Column(column_id, name, data_type, json.get("comment"), json.get("default"))


def _literals(columns: Sequence[Mapping[str, Any]], layout: TableLayout) -> dict[str, str]:
    """The DEFAULTs that other engines read, by column."""
    found = {c["name"]: stored_text(c, layout.column(c["name"]).type) for c in columns}
    return {name: text for name, text in found.items() if text is not None}


def _check_columns(layout: TableLayout, there: frozenset[str] = frozenset()) -> None:
    """Raises TableError if names clash or are reserved. Columns that are `there` may be called what
    they are: a table of another writer, or of an earlier version, is altered all the same.
    """
    seen: set[str] = set()
    for column in layout.columns:
        if column.name.lower() in seen:
            raise TableError(
                f"table {layout.name} has two columns {column.name}, where upper and lower case "
                "are one"
            )
        if not column.name.strip():
            raise TableError(f"table {layout.name} has a column without a name")
        is_reserved = column.name in _RESERVED or column.name.startswith("_KEY_")
        if is_reserved and column.name not in there:
            raise TableError(
                f"table {layout.name}: {column.name} cannot be used as column names, it is reserved"
            )
        seen.add(column.name.lower())
    for name in (*layout.primary_key, *layout.partition_keys):
        _check_key_type(layout, name)


def _check_key_type(layout: TableLayout, name: str) -> None:
    data_type = layout.column(name).type
    if not isinstance(data_type, logical.Atomic):
        raise NotSupportedError(
            f"table {layout.name}: key column {name} must be of an atomic type, "
            f"it is {logical.describe(data_type)}"
        )
    why = data_type.facts.unpartitioned
    if name in layout.partition_keys and why:
        raise NotSupportedError(
            f"table {layout.name}: partition column {name} can't be "
            f"{logical.describe(data_type)}: {why}"
        )
