"""Table options: one declaration each, parsed once into a frozen `TableOptions`.

Names are Paimon's; spellings of Fluss and older Paimon are translated at CREATE by `normalize`. `check_create`
refuses what is unknown or not supported; `parse` is lenient about names, for tables other engines made.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from keyfold.errors import NotSupportedError, TableError
from keyfold.layout import TableLayout
from keyfold.paimon_options import PAIMON_FIELD_OPTIONS, PAIMON_OPTIONS

# Stored at CREATE when `bucket` is not named.
DEFAULT_BUCKETS = 4
TAG_PREFIX = "keyfold.tag."
DEFAULT_PREFIX = "keyfold.default."
FIELD_DEFAULT_AGGREGATE = "fields.default-aggregate-function"

_SPARKS_OWN = {"comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"}
_FIELD = re.compile(r"^fields\.(.+)\.([^.]+)$")


# ---- parsers: text -> value; ValueError says what was expected ----


def boolean(text: str) -> bool:
    """true or false, in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def whole(least: int, greatest: int = 2**31 - 1) -> Callable[[str], int]:
    """A parser of whole numbers in a range."""

    def parse_whole(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d+", text) or not least <= int(text) <= greatest:
            raise ValueError(f"a whole number from {least} to {greatest}")
        return int(text)

    return parse_whole


_BYTES = {"": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "kibibytes": 10, "m": 20, "mb": 20, "mebibytes": 20}
_BYTES |= {"g": 30, "gb": 30, "gibibytes": 30, "t": 40, "tb": 40, "tebibytes": 40}


def byte_size(text: str) -> int:
    """'128 mb', '64KB', '1048576': units of 1024."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _BYTES or int(match[1]) == 0:
        raise ValueError("a size such as 128 mb, 64kb or 1048576")
    return int(match[1]) << _BYTES[match[2]]


_SECONDS = {"ms": 0.001, "milli": 0.001, "millis": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0}
_SECONDS |= {"min": 60.0, "m": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0}
_SECONDS |= {"": 0.001, "d": 86400.0, "day": 86400.0, "days": 86400.0}


def duration(text: str) -> float:
    """'10 ms', '30 s', '5 min', '1 h' to seconds; a bare number is milliseconds."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _SECONDS:
        raise ValueError("a duration such as 10 ms, 30 s or 5 min")
    return int(match[1]) * _SECONDS[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Column names, separated by commas."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ValueError("column names separated by commas")
    return parts


def one_of(*values: str) -> Callable[[str], str]:
    """A parser of a word from a fixed list, in any case."""

    def parse_word(text: str) -> str:
        if text.strip().lower() not in values:
            raise ValueError(" or ".join(values))
        return text.strip().lower()

    return parse_word


def _word(text: str) -> str:
    return text.strip()


# ---- the declarations ----


@dataclass(frozen=True)
class Option:
    """One option; `attribute` is where `TableOptions` keeps it, None for one with a single allowed value."""

    name: str
    attribute: str | None
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    aliases: tuple[str, ...] = ()


OPTIONS: tuple[Option, ...] = (
    Option("merge-engine", "merge_engine", _word, "deduplicate", "How rows of one key fold.", ("table.merge-engine",)),
    Option("bucket", "bucket", whole(1, 32767), None,
           f"Number of buckets a partition is hashed into; {DEFAULT_BUCKETS} when not named.", ("bucket.num",)),
    Option("bucket-key", "bucket_key", names, None,
           "Columns hashed into the bucket; the primary key without partition columns when not named.", ("bucket.key",)),
    Option("sequence.field", "sequence_fields", names, None,
           "Columns that order the rows of a key; the greatest is folded last."),
    Option("sequence.field.sort-order", "sequence_order", one_of("ascending", "descending"), "ascending",
           "Whether the greatest or the smallest sequence value is folded last."),
    Option("rowkind.field", "rowkind_field", _word, None, "STRING column that holds +I, -U, +U or -D."),
    Option("ignore-delete", "ignore_delete", boolean, "false", "Drop -U and -D rows when writing.",
           ("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete")),
    Option("ignore-update-before", "ignore_update_before", boolean, "false", "Drop -U rows when writing."),
    Option("aggregation.remove-record-on-delete", "remove_record_on_delete", boolean, "false",
           "A -D removes the row instead of being retracted from its columns."),
    Option(FIELD_DEFAULT_AGGREGATE, "default_aggregate", _word, None,
           "Aggregate of the columns that name none.", ("fields.default-agg",)),
    Option("target-file-size", "target_file_size", byte_size, "128 mb", "Size at which a data file is ended."),
    Option("file.compression", "file_compression", one_of("zstd", "snappy", "lz4", "gzip", "none"), "zstd",
           "Codec of data files."),
    Option("file.compression.zstd-level", "zstd_level", whole(1, 22), "1", "Level of the zstd codec."),
    Option("keyfold.row-group.rows", "row_group_rows", whole(1024), "65536", "Rows in a row group of a data file."),
    Option("write-buffer-size", "write_buffer_size", byte_size, "256 mb",
           "Bytes a task buffers before it spills sorted runs to local disk."),
    Option("write-only", "write_only", boolean, "false", "A job only appends runs and leaves compaction to others."),
    Option("source.split.target-size", "split_target_size", byte_size, "128 mb", "Bytes of files in one read task."),
    Option("source.split.open-file-cost", "split_open_file_cost", byte_size, "4 mb",
           "Bytes a file counts for at least when read tasks are made."),
    Option("manifest.target-file-size", "manifest_target_file_size", byte_size, "8 mb",
           "Size at which a manifest is ended."),
    Option("manifest.merge-min-count", "manifest_merge_min_count", whole(1), "30",
           "Number of small manifests at which a commit merges them."),
    Option("manifest.full-compaction-threshold-size", "manifest_full_compaction_size", byte_size, "16 mb",
           "Size of changed manifests at which a commit rewrites them all.", ("manifest.full-compaction-threshold",)),
    Option("commit.max-retries", "commit_max_retries", whole(0), "10", "How often a commit retries a lost race."),
    Option("commit.timeout", "commit_timeout", duration, "120 s", "How long a commit retries a lost race."),
    Option("commit.min-retry-wait", "commit_min_retry_wait", duration, "10 ms", "First wait between retries."),
    Option("commit.max-retry-wait", "commit_max_retry_wait", duration, "10 s", "Longest wait between retries."),
    # One value each: named so that a table may say it, refused otherwise.
    Option("type", None, one_of("table"), "table", "Kind of table."),
    Option("file.format", None, one_of("parquet"), "parquet", "Format of data files."),
    Option("manifest.format", None, one_of("avro"), "avro", "Format of manifests."),
    Option("manifest.compression", None, one_of("zstd"), "zstd", "Codec of manifests."),
    Option("metadata.stats-mode", None, one_of("truncate(16)"), "truncate(16)", "Statistics kept of each column."),
    Option("changelog-producer", None, one_of("none"), "none", "Who writes changelog files."),
    Option("deletion-vectors.enabled", None, one_of("false"), "false", "Mark replaced rows in bitmaps."),
    Option("row-tracking.enabled", None, one_of("false"), "false", "Row ids for append tables."),
    Option("data-evolution.enabled", None, one_of("false"), "false", "Column files for append tables."),
    Option("data-file.thin-mode", None, one_of("false"), "false", "Leave the key copy out of data files."),
    Option("primary-key.nullable", None, one_of("false"), "false", "NULL in key columns."),
    Option("bucket-function.type", None, one_of("default"), "default", "Hash of the bucket key."),
    Option("sequence.snapshot-ordering", None, one_of("false"), "false", "Order rows by snapshot."),
    Option("file.suffix.include.compression", None, one_of("false"), "false", "Codec in names of data files."),
    Option("partition.default-name", None, one_of("__default_partition__"), "__DEFAULT_PARTITION__",
           "Directory of the NULL partition."),
)  # fmt: skip

FIELD_OPTIONS: Mapping[str, str] = {
    "aggregate-function": "Aggregate of the column under merge-engine aggregation.",
    "ignore-retract": "Leave -U and -D rows out of the column's aggregate.",
}
_FIELD_ALIASES = {"agg": "aggregate-function"}

_BY_NAME = {option.name: option for option in OPTIONS}
_ALIASES = {alias: option.name for option in OPTIONS for alias in option.aliases}


@dataclass(frozen=True)
class TableOptions:
    """The options of one table, typed; sizes are bytes, durations seconds. `bucket` is -1 when not stored."""

    merge_engine: str
    bucket: int
    bucket_key: tuple[str, ...]
    sequence_fields: tuple[str, ...]
    sequence_descending: bool
    rowkind_field: str | None
    ignore_delete: bool
    ignore_update_before: bool
    remove_record_on_delete: bool
    default_aggregate: str | None
    target_file_size: int
    file_compression: str
    zstd_level: int
    row_group_rows: int
    write_buffer_size: int
    write_only: bool
    split_target_size: int
    split_open_file_cost: int
    manifest_target_file_size: int
    manifest_merge_min_count: int
    manifest_full_compaction_size: int
    commit_max_retries: int
    commit_timeout: float
    commit_min_retry_wait: float
    commit_max_retry_wait: float
    by_field: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def field_options(self, column: str) -> Mapping[str, str]:
        """What stands behind `fields.<column>.`: suffix -> text."""
        return self.by_field.get(column, {})


def parse(layout: TableLayout) -> TableOptions:
    """Typed options of a table; TableError for a value that doesn't parse, unknown names are passed over."""
    stored = normalize(layout.options)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = stored.get(option.name, option.default)
        if option.attribute is not None:
            values[option.attribute] = None if text is None else _parsed(option, text, layout.name)
    values["bucket"] = values["bucket"] or -1
    values["bucket_key"] = values["bucket_key"] or layout.key
    values["sequence_fields"] = values["sequence_fields"] or ()
    values["sequence_descending"] = values.pop("sequence_order") == "descending"
    return TableOptions(**values, by_field=_by_field(stored))


def _parsed(option: Option, text: str, table: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        if option.name == "bucket" and re.fullmatch(r"-\d+", text):
            return -1
        raise TableError(f"option {option.name} of table {table}: expected {error}, found '{text}'") from None


def _by_field(stored: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in stored.items():
        match = _FIELD.match(name)
        if match is not None:
            found.setdefault(match[1], {})[match[2]] = text
    return found


def normalize(properties: Mapping[str, str]) -> dict[str, str]:
    """Stored spelling of table properties: aliases translated, what Spark itself adds taken out."""
    stored: dict[str, str] = {}
    for name, text in properties.items():
        if name in _SPARKS_OWN or name.startswith("option."):
            continue
        target = _stored_name(name)
        if stored.get(target, text) != text:
            raise TableError(f"option {target} is given twice with different values: '{stored[target]}' and '{text}'")
        stored[target] = text
    return stored


def _stored_name(name: str) -> str:
    match = _FIELD.match(name)
    if match is not None and match[2] in _FIELD_ALIASES:
        return f"fields.{match[1]}.{_FIELD_ALIASES[match[2]]}"
    return _ALIASES.get(name, name)


# ---- checks at CREATE and ALTER ----


def check_create(layout: TableLayout) -> None:
    """Refuse unknown names (with the nearest known one), unsupported names and values, and keys that can't work."""
    for name, text in layout.options.items():
        check_option(layout, name, text)
    _check_key(layout)
    options = parse(layout)
    if options.bucket < 1:
        raise NotSupportedError(f"table {layout.name}: bucket must be 1 or more; dynamic and postpone buckets are not supported")
    _check_columns(layout, options)


def check_option(layout: TableLayout, name: str, text: str) -> None:
    """Refuse one option that is unknown, unsupported or has a bad value."""
    if name.startswith((TAG_PREFIX, DEFAULT_PREFIX)):
        return
    option = _BY_NAME.get(name)
    if option is None:
        return _check_field_option(layout, name, text)
    if name == "bucket" and re.fullmatch(r"\s*(0|-\d+)\s*", text):
        raise NotSupportedError(
            f"option bucket of table {layout.name}: expected a number of buckets from 1, found '{text}' "
            "(dynamic and postpone buckets are not supported)"
        )
    try:
        option.parse(text)
    except ValueError as error:
        kind = TableError if option.attribute else NotSupportedError
        raise kind(f"option {name} of table {layout.name}: expected {error}, found '{text}'") from None
    return None


def _check_field_option(layout: TableLayout, name: str, text: str) -> None:
    match = _FIELD.match(name)
    if match is None:
        raise unknown_option(layout.name, name)
    column, suffix = match.groups()
    if suffix in PAIMON_FIELD_OPTIONS and suffix not in FIELD_OPTIONS:
        raise NotSupportedError(f"option {name} of table {layout.name} is known to Paimon but not supported here")
    if suffix not in FIELD_OPTIONS:
        raise unknown_option(layout.name, name)
    if not layout.has_column(column):
        layout.column(column)
    if suffix == "ignore-retract":
        _check_boolean(layout.name, name, text)


def _check_boolean(table: str, name: str, text: str) -> None:
    try:
        boolean(text)
    except ValueError as error:
        raise TableError(f"option {name} of table {table}: expected {error}, found '{text}'") from None


def unknown_option(table: str, name: str) -> TableError | NotSupportedError:
    """The error for a name we don't support: known to Paimon, or unknown with the nearest known name."""
    if name in PAIMON_OPTIONS:
        return NotSupportedError(f"option {name} of table {table} is known to Paimon but not supported here")
    near = difflib.get_close_matches(name, _nearby_names(name), 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return TableError(
        f"option {name} of table {table} is unknown{hint} (names that begin with {TAG_PREFIX} are free for your own tags)"
    )


def _nearby_names(name: str) -> Iterable[str]:
    known = [*_BY_NAME, *_ALIASES, "primary-key"]
    match = re.match(r"^fields\.([^.]+)\.", name)
    return known + [f"fields.{match[1] if match else '<column>'}.{suffix}" for suffix in FIELD_OPTIONS]


def _check_key(layout: TableLayout) -> None:
    table, key = layout.name, layout.primary_key
    if not key:
        raise TableError(
            f"table {table} has no primary key: add PRIMARY KEY (columns) or TBLPROPERTIES ('primary-key' = 'columns')"
        )
    if len(set(key)) != len(key):
        raise TableError(f"table {table}: the primary key names a column twice: {', '.join(key)}")
    missing = [name for name in layout.partition_keys if name not in key]
    if missing:
        raise NotSupportedError(
            f"table {table}: the primary key ({', '.join(key)}) lacks partition column {', '.join(missing)}; "
            "keys that reach across partitions are not supported"
        )
    if not layout.key:
        raise TableError(f"table {table}: the primary key holds only partition columns; add a column that is none")


def _check_columns(layout: TableLayout, options: TableOptions) -> None:
    _check_named(layout, "bucket-key", options.bucket_key)
    _check_named(layout, "sequence.field", options.sequence_fields)
    stray = [name for name in options.bucket_key if name not in layout.key]
    if stray:
        raise TableError(
            f"option bucket-key of table {layout.name}: {', '.join(stray)} is not in the primary key "
            f"without partition columns ({', '.join(layout.key)})"
        )
    for name in options.sequence_fields:
        if "aggregate-function" in options.field_options(name):
            raise TableError(f"table {layout.name}: sequence.field {name} may not have an aggregate-function")
    if options.rowkind_field is not None:
        _check_row_kind(layout, options.rowkind_field)


def _check_named(layout: TableLayout, option: str, columns: tuple[str, ...]) -> None:
    for name in columns:
        if not layout.has_column(name):
            raise TableError(f"option {option} of table {layout.name}: there is no column {name}")
        if columns.count(name) > 1:
            raise TableError(f"option {option} of table {layout.name} names column {name} twice")


def _check_row_kind(layout: TableLayout, name: str) -> None:
    _check_named(layout, "rowkind.field", (name,))
    root = getattr(layout.column(name).type, "name", None)
    if root not in ("STRING", "CHAR", "VARCHAR"):
        raise TableError(f"option rowkind.field of table {layout.name}: column {name} must be a STRING, it is {root}")


_ATTRIBUTES = {option.attribute for option in OPTIONS if option.attribute} - {"sequence_order"}
assert {f.name for f in fields(TableOptions)} == _ATTRIBUTES | {"sequence_descending", "by_field"}
