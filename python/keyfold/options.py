"""Table options, parsed once into a frozen `TableOptions`, and the checks at CREATE.

Spellings of Fluss and older Paimon are translated by `normalize`. `check_create` refuses what is
unknown or not supported; `parse` passes over unknown names, for tables other engines made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from keyfold import fluss_options, types
from keyfold.errors import NotSupportedError, TableError
from keyfold.layout import TableLayout
from keyfold.option_names import (
    FIELD,
    FIELD_NAMING,
    FIELD_NESTED,
    NAMING,
    TAG_PREFIX,
    normalize,
    unknown_option,
)
from keyfold.option_table import (
    DEFAULT_BUCKETS,
    FIELD_DEFAULT_AGGREGATE,
    FIELD_OPTIONS,
    KEY_NULLABLE,
    OPTIONS,
    Option,
)
from keyfold.option_values import names

__all__ = [
    "DEFAULT_BUCKETS",
    "DEFAULT_PREFIX",
    "FIELD",
    "FIELD_DEFAULT_AGGREGATE",
    "FIELD_NAMING",
    "FIELD_NESTED",
    "FIELD_OPTIONS",
    "FIRST_ROW",
    "FOLDING",
    "INITIAL_PREFIX",
    "KEEPING",
    "KEY_NULLABLE",
    "NAMING",
    "OPTIONS",
    "TAG_PREFIX",
    "Option",
    "TableOptions",
    "check_change",
    "check_create",
    "check_option",
    "check_ordered",
    "normalize",
    "parse",
]

DEFAULT_PREFIX = "keyfold.default."
# What rows stored before the column was added have in it: the wire's literal, as JSON.
INITIAL_PREFIX = "keyfold.initial-default."

# Engines under which an INSERT of some columns leaves the others alone.
FOLDING = ("partial-update", "aggregation")
# Engines whose result is one of the records as it came, so that order is told by numbers alone.
FIRST_ROW = "first-row"
KEEPING = ("deduplicate", FIRST_ROW)

_BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class TableOptions:
    """The options of one table; sizes are bytes, durations seconds. `bucket` is -1 if dynamic."""

    merge_engine: str
    bucket: int
    bucket_key: tuple[str, ...]
    key_nullable: bool
    sequence_fields: tuple[str, ...]
    sequence_descending: bool
    snapshot_ordering: bool
    rowkind_field: str | None
    ignore_delete: bool
    ignore_update_before: bool
    remove_record_on_delete: bool
    partial_remove_on_delete: bool
    remove_on_sequence_group: tuple[str, ...]
    delete_behavior: str | None
    version_column: str | None
    changelog_image: str
    default_aggregate: str | None
    target_file_size: int
    file_compression: str
    zstd_level: int
    row_group_rows: int
    sync_files: bool
    write_buffer_size: int
    thin_files: bool
    write_only: bool
    compaction_trigger: int
    compaction_stop_trigger: int | None
    levels: int | None
    compaction_size_ratio: int
    compaction_max_amplification: int
    compaction_small_file_ratio: float
    compaction_interval: float | None
    compaction_total_size: int | None
    compaction_incremental_size: int | None
    compaction_write_budget: int
    split_target_size: int
    split_open_file_cost: int
    manifest_target_file_size: int
    manifest_merge_min_count: int
    manifest_full_compaction_size: int
    commit_max_retries: int
    commit_timeout: float
    commit_min_retry_wait: float
    commit_max_retry_wait: float
    snapshots_at_least: int
    snapshots_at_most: int
    snapshot_seconds: float
    snapshot_expire_limit: int
    snapshot_expire_mode: str
    by_field: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def field_options(self, column: str) -> Mapping[str, str]:
        """What stands behind `fields.<column>.`: suffix -> text."""
        return self.by_field.get(column, {})


def parse(layout: TableLayout) -> TableOptions:
    """Typed options of a table; TableError for a value that doesn't parse."""
    stored = normalize(layout.options)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = stored.get(option.name, option.default)
        if option.attribute is not None:
            values[option.attribute] = None if text is None else _parsed(option, text, layout.name)
    values["bucket"] = values["bucket"] or -1
    values["bucket_key"] = values["bucket_key"] or layout.key
    values["sequence_fields"] = values["sequence_fields"] or ()
    values["remove_on_sequence_group"] = values["remove_on_sequence_group"] or ()
    values["sequence_descending"] = values.pop("sequence_order") == "descending"
    return TableOptions(**values, by_field=_by_field(stored))


def _parsed(option: Option, text: str, table: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        if option.name == "bucket" and re.fullmatch(r"-\d+", text):
            return -1
        raise TableError(
            f"option {option.name} of table {table}: expected {error}, found '{text}'"
        ) from None


def _by_field(stored: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in stored.items():
        match = FIELD.match(name)
        if match is not None:
            found.setdefault(match[1], {})[match[2]] = text
    return found


# ---- checks at CREATE and ALTER ----


def check_create(layout: TableLayout) -> None:
    """Refuse unknown and unsupported names and values, and keys that can't work."""
    if layout.options.get("merge-engine", "").strip().lower() == FIRST_ROW:
        _check_first_row(layout)
    for name, text in layout.options.items():
        check_option(layout, name, text)
    _check_key(layout)
    options = parse(layout)
    if options.bucket < 1:
        raise NotSupportedError(
            f"table {layout.name}: bucket must be 1 or more; "
            "dynamic and postpone buckets are not supported"
        )
    _check_columns(layout, options)
    _check_retention(layout, options)


def _check_first_row(layout: TableLayout) -> None:
    """What does not go with this engine elsewhere either, in Paimon's words."""
    if layout.options.get("deletion-vectors.enabled", "false").strip().lower() != "false":
        raise TableError(
            f"option deletion-vectors.enabled of table {layout.name}: First row merge engine does "
            "not need deletion vectors because there is no deletion of old data in this merge "
            "engine."
        )
    producer = layout.options.get("changelog-producer", "none").strip().lower()
    if producer not in ("none", "lookup"):
        raise TableError(
            f"option changelog-producer of table {layout.name}: Only support 'none' and 'lookup' "
            f"changelog-producer on FIRST_ROW merge engine, found '{producer}'"
        )


def check_change(before: TableLayout, after: TableLayout) -> None:
    """The same for what an ALTER changes; options another engine set before are left alone."""
    for name, text in after.options.items():
        if before.options.get(name) != text:
            check_option(after, name, text)
    options, old = parse(after), parse(before)
    _check_columns(after, options)
    if _retained(options) != _retained(old):
        _check_retention(after, options)


def _retained(options: TableOptions) -> tuple[int, int]:
    return options.snapshots_at_least, options.snapshots_at_most


def _check_retention(layout: TableLayout, options: TableOptions) -> None:
    least, most = _retained(options)
    if most < least:
        raise TableError(
            f"table {layout.name}: snapshot.num-retained.max ({most}) must not be less than "
            f"snapshot.num-retained.min ({least}); set both"
        )


def check_option(layout: TableLayout, name: str, text: str) -> None:
    """Refuse one option that is unknown, unsupported or has a bad value."""
    if name.startswith((TAG_PREFIX, DEFAULT_PREFIX, INITIAL_PREFIX)):
        return
    option = _BY_NAME.get(name)
    if option is None:
        return _check_field_option(layout, name)
    if name == "bucket" and re.fullmatch(r"\s*(0|-\d+)\s*", text):
        raise NotSupportedError(
            f"option bucket of table {layout.name}: expected a number from 1, found '{text}' "
            "(dynamic and postpone buckets are not supported)"
        )
    try:
        option.parse(text)
    except ValueError as error:
        kind = TableError if option.attribute else NotSupportedError
        raise kind(
            f"option {name} of table {layout.name}: expected {error}, found '{text}'"
        ) from None
    return None


def _check_field_option(layout: TableLayout, name: str) -> None:
    """The columns must exist; what stands behind them is checked where the aggregates are known."""
    match = FIELD.match(name)
    if match is None:
        raise unknown_option(layout.name, name)
    for column in names(match[1]):
        _check_field(layout, name, column)


def _check_field(layout: TableLayout, option: str, column: str) -> None:
    if layout.has_column(column):
        return
    row = column.partition(".")[0]
    if row != column and layout.has_column(row):
        raise NotSupportedError(
            f"option {option} of table {layout.name}: Nested-field path is not supported on ROW "
            f"field {row}"
        )
    raise TableError(
        f"option {option} of table {layout.name}: Field {column} can not be found in table "
        f"schema. It has {', '.join(own.name for own in layout.columns)}"
    )


def _check_key(layout: TableLayout) -> None:
    table, key = layout.name, layout.primary_key
    if not key:
        words = "Merge engine is only supported in primary key table. "
        raise TableError(
            f"table {table} has no primary key. {words if 'merge-engine' in layout.options else ''}"
            "Add PRIMARY KEY (columns) or TBLPROPERTIES ('primary-key' = 'columns'); to the writer "
            "of a DataFrame .option('primary-key', 'columns'), or .tableProperty after writeTo"
        )
    if len(set(key)) != len(key):
        raise TableError(f"table {table}: the primary key names a column twice: {', '.join(key)}")
    missing = [name for name in layout.partition_keys if name not in key]
    if missing:
        raise NotSupportedError(
            f"table {table}: the primary key ({', '.join(key)}) lacks partition column "
            f"{', '.join(missing)}; "
            "keys that reach across partitions are not supported"
        )
    if not layout.key:
        raise TableError(
            f"table {table}: the primary key holds only partition columns; add another column"
        )


def _check_columns(layout: TableLayout, options: TableOptions) -> None:
    if options.version_column is not None:
        _check_version(layout, options.version_column)
    _check_named(layout, "bucket-key", options.bucket_key)
    _check_named(layout, "sequence.field", options.sequence_fields)
    stray = [name for name in options.bucket_key if name not in layout.key]
    if stray:
        raise TableError(
            f"option bucket-key of table {layout.name}: "
            f"{', '.join(stray)} is not in the primary key "
            f"without partition columns ({', '.join(layout.key)})"
        )
    for name in options.sequence_fields:
        check_ordered(layout, "sequence.field", name)
        if "aggregate-function" in options.field_options(name):
            raise TableError(
                f"table {layout.name}: Should not define aggregation on sequence field: '{name}'."
            )
    if options.rowkind_field is not None:
        _check_row_kind(layout, options.rowkind_field)
    if options.snapshot_ordering:
        _check_snapshot_ordering(layout, options)


def _check_snapshot_ordering(layout: TableLayout, options: TableOptions) -> None:
    """Paimon's SchemaValidation, in its words."""
    start = f"table {layout.name}: sequence.snapshot-ordering = true"
    if options.sequence_fields:
        raise TableError(
            f"{start} is mutually exclusive with sequence.field; the snapshot id is the sole "
            "tiebreaker."
        )
    if not options.write_only:
        raise TableError(
            f"{start} requires write-only = true: set it; compaction before a commit could not "
            "know the snapshot id its rows are ordered by"
        )


def _check_named(layout: TableLayout, option: str, columns: tuple[str, ...]) -> None:
    for name in columns:
        where, what = f"option {option} of table {layout.name}", _NAMED.get(option, "Column")
        if not layout.has_column(name):
            raise TableError(f"{where}: {what}: '{name}' can not be found in table schema.")
        if columns.count(name) > 1:
            raise TableError(f"{where}: {what} '{name}' is defined repeatedly.")


def check_ordered(layout: TableLayout, option: str, name: str) -> None:
    """TableError for a column that can't order rows: ARRAY, MAP and STRUCT have no order."""
    kind = layout.column(name).type
    if not isinstance(kind, types.Atomic):
        raise TableError(
            f"option {option} of table {layout.name}: column {name} must be of an atomic type, "
            f"it is {types.describe(kind)}"
        )


# What Paimon calls a column that an option names.
_NAMED = {"sequence.field": "Sequence field", "rowkind.field": "Rowkind field"}
_VERSIONS = ("INT", "BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ")


def _check_version(layout: TableLayout, name: str) -> None:
    """The words are Fluss'."""
    where = f"table {layout.name}, option {fluss_options.VERSION}"
    if not layout.has_column(name):
        raise TableError(
            f"{where}: The version column '{name}' for versioned merge engine doesn't exist in "
            "schema."
        )
    kind = layout.column(name).type
    if getattr(kind, "name", None) not in _VERSIONS:
        raise TableError(
            f"{where}: The version column '{name}' for versioned merge engine must be one type of "
            f"[{', '.join(_VERSIONS)}], but got {types.describe(kind)}."
        )


def _check_row_kind(layout: TableLayout, name: str) -> None:
    _check_named(layout, "rowkind.field", (name,))
    root = getattr(layout.column(name).type, "name", None)
    if root not in ("STRING", "CHAR", "VARCHAR"):
        raise TableError(
            f"option rowkind.field of table {layout.name}: "
            f"column {name} must be a STRING, it is {root}"
        )


_ATTRIBUTES = {option.attribute for option in OPTIONS if option.attribute} - {"sequence_order"}
assert {f.name for f in fields(TableOptions)} == _ATTRIBUTES | {"sequence_descending", "by_field"}
