"""CREATE TABLE as Spark has parsed it: format, properties, transforms and constraints.

Clauses that no table here can have are refused; the others are a `NewTable`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keyfold.errors import TableError
from keyfold.options.names import SPARKS_OWN
from keyfold.storage.schema.definition import NewTable

# Parquet is what data files are, and what DataFrames say that name no format.
_FORMATS = {"keyfold", "paimon", "parquet"}
_OPTION = "option."  # before the name of a property that OPTIONS (…) named, too
_HIVE = "hive."
# The place of a table, and its key, which is a constraint too: none of these is taken over by LIKE.
_OF_ONE_TABLE = {"location", "is_managed_location", "primary-key"}
_REFUSED = {
    "bucket": "CLUSTERED BY is not supported; rows go to buckets by their key: name TBLPROPERTIES "
    "('bucket' = …), and 'bucket-key' for some columns of the key",
    "cluster_by": "CLUSTER BY is not supported; the rows of a bucket are kept in the order of "
    "their key: leave it out",
}
_REFUSED["sorted_bucket"] = _REFUSED["bucket"]


def new_table(table: str, said: Mapping[str, Any]) -> NewTable:
    """The table that a statement defines. Raises TableError if it can't be one. The options and the
    comment of the table that it is `like` count where the statement has none of that name: without
    them its rows would fold otherwise.
    """
    taken = {n: t for n, t in (said.get("like") or {}).items() if n not in _OF_ONE_TABLE}
    properties = taken | dict(said["properties"])
    provider = properties.get("provider")
    if provider is not None and provider.lower() not in _FORMATS:
        raise TableError(
            f"table {table} is declared USING {provider}: this catalog's tables are Paimon tables "
            "of Parquet files; leave USING out, or say keyfold"
        )
    _check_storage(table, properties)
    partitioning = tuple(_partition_column(table, one) for one in said["partitioning"])
    key = _primary_key(table, said["constraints"])
    keeps = key is None and _is_saved(properties)
    return NewTable(said["columns"], partitioning, key, properties, keeps)


def _check_storage(table: str, properties: Iterable[str]) -> None:
    """Raises TableError for ROW FORMAT and STORED AS, of which Spark makes properties that no
    OPTIONS (…) named.
    """
    known = {*properties}
    for name in properties:
        is_unnamed = name.startswith(_OPTION) and name.removeprefix(_OPTION) not in known
        if is_unnamed or name.startswith(_HIVE):
            raise TableError(
                f"table {table}: ROW FORMAT and STORED AS ({name}) are not supported: rows are "
                "kept in Parquet files; leave them out"
            )


def _is_saved(properties: Mapping[str, str]) -> bool:
    """Whether this is what `saveAsTable` says of a table: a format, and options in place of
    properties. If it overwrites a table, it keeps what it does not name.
    """
    own = [n for n in properties if n not in SPARKS_OWN and not n.startswith(_OPTION)]
    return "provider" in properties and all(_OPTION + name in properties for name in own)


def _partition_column(table: str, transform: Mapping[str, Any]) -> str:
    name = transform["transform"]
    if name == "identity":
        return _column(table, transform["columns"][0])
    if name in _REFUSED:
        raise TableError(f"table {table}: {_REFUSED[name]}")
    raise TableError(
        f"table {table} is partitioned by {transform['text']}; PARTITIONED BY takes columns only"
    )


def _primary_key(table: str, constraints: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    for one in constraints:
        if "primary_key" not in one:
            raise TableError(
                f"table {table} has the constraint {one['text']}; PRIMARY KEY is the only table "
                "constraint here"
            )
    keys = [tuple(_column(table, name) for name in one["primary_key"]) for one in constraints]
    return keys[0] if keys else None


def _column(table: str, path: Sequence[str]) -> str:
    if len(path) != 1:
        raise TableError(
            f"table {table} names the field {'.'.join(path)} in its key or partitioning; both take "
            "top-level columns only"
        )
    return path[0]
