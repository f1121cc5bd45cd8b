"""Checks of table options at CREATE and ALTER: they refuse unknown and unsupported options, and
columns that don't fit the option that names them.
"""

import re

from keyfold.errors import NotSupportedError, TableError
from keyfold.options import fluss
from keyfold.options.changelogs import check_changelog
from keyfold.options.columns.bloom_filters import check_bloom_filters, check_index_option
from keyfold.options.columns.on_write import check_on_write
from keyfold.options.declared import (
    DEFAULT_PREFIX,
    INITIAL_PREFIX,
    PIPELINES_PREFIX,
    TAG_CREATION_ELSEWHERE,
    TAG_PERIODS,
    TAG_PREFIX,
    TableOptions,
    known,
)
from keyfold.options.engines import default, traits
from keyfold.options.ids import check_ids
from keyfold.options.names import FIELD, TUNING, unknown_option
from keyfold.options.parsing import parse
from keyfold.options.row_times import check_row_times
from keyfold.options.spanning_keys import check_spanning_keys
from keyfold.options.values import given, names, shown
from keyfold.types import logical
from keyfold.types.java_times import pattern
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import POSTPONED

# Paimon's words for the columns that an option names.
_NAMED = {"sequence.field": "Sequence field", "rowkind.field": "Rowkind field"}
_CHANGELOG = (
    "changelog",
    "keyfold.changelog.",
    "full-compaction.delta-commits",
    "lookup-wait",
    "snapshot.",
)
_PARTITIONS = ("partition.expiration-time", "partition.timestamp-", "table.auto-partition.")
_VERSIONS = ("INT", "BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ")


def check_create(layout: TableLayout) -> None:
    """Refuse unknown and unsupported names and values, and keys that can't work."""
    named = layout.options.get("merge-engine")
    engine = default() if named is None else traits(named.strip().lower())
    engine.refuses(layout)
    _check_across_partitions(layout)
    for name, text in layout.options.items():
        check_option(layout, name, text)
    _check_key(layout)
    options = parse(layout)
    check_spanning_keys(layout, options)
    if options.is_dynamic and "bucket-key" in layout.options:
        raise TableError(
            f"table {layout.name}: option bucket-key goes with a fixed number of buckets, found "
            "bucket = -1, where index files say the bucket of each key"
        )
    check_postponed(layout, options)
    _check_columns(layout, options)
    check_bloom_filters(layout, options)
    _check_retention(layout, options)
    _check_tags(layout, options)
    _check_partitions(layout, options)
    check_changelog(layout, options)


def check_postponed(layout: TableLayout, options: TableOptions) -> None:
    """Raises NotSupportedError if the table asks of rows what those without a bucket lack: a place
    in the order, and what is stored of their keys.
    """
    if options.bucket != POSTPONED:
        return
    for name, is_set in (
        (TableOptions.snapshot_ordering.name, options.snapshot_ordering),
        (TableOptions.id_columns.name, bool(options.id_columns)),
    ):
        if is_set:
            raise NotSupportedError(
                f"table {layout.name}: option {name} does not go with postponed buckets, found "
                "bucket = -2; expected a number from 1"
            )


def _check_across_partitions(layout: TableLayout) -> None:
    """Raises TableError, in Paimon's words, if an option does not go with such keys. It runs
    before the options' own checks: Paimon's tables with such keys name no number of buckets, or -1.
    """
    key, parts = layout.primary_key, layout.partition_keys
    if key and "sequence.field" in layout.options and not set(parts) <= set(key):
        raise TableError(
            f"table {layout.name}: You can not use sequence.field in cross partition update case "
            f"(Primary key constraint '{list(key)}' not include all partition fields "
            f"'{list(parts)}')."
        )


def check_change(before: TableLayout, after: TableLayout) -> None:
    """Check an ALTER's changes as CREATE's options; those of an engine before are skipped."""
    for name, text in after.options.items():
        if before.options.get(name) != text:
            check_option(after, name, text)
    options, old = parse(after), parse(before)
    check_postponed(after, options)
    _check_columns(after, options)
    if _retained(options) != _retained(old):
        _check_retention(after, options)
    if any(n.startswith("file-index.") for n, _ in after.options.items() - before.options.items()):
        check_bloom_filters(after, options)
    if _of_tags(options) != _of_tags(old):
        _check_tags(after, options)
    if any(
        name.startswith(_PARTITIONS) for name, _ in after.options.items() - before.options.items()
    ):
        _check_partitions(after, options)
    if any(
        name.startswith(_CHANGELOG) for name, _ in after.options.items() - before.options.items()
    ):
        options.engine.refuses(after)
        check_changelog(after, options)


def _retained(options: TableOptions) -> tuple[int, int]:
    return options.snapshots_at_least, options.snapshots_at_most


def _check_retention(layout: TableLayout, options: TableOptions) -> None:
    least, most = _retained(options)
    if most < least:
        raise TableError(
            f"table {layout.name}: snapshot.num-retained.max ({most}) must not be less than "
            f"snapshot.num-retained.min ({least}); set both"
        )


def _of_tags(options: TableOptions) -> tuple[str, str, float]:
    return options.tag_creation, options.tag_period, options.tag_delay


def _check_tags(layout: TableLayout, options: TableOptions) -> None:
    if options.tag_creation in TAG_CREATION_ELSEWHERE:
        raise NotSupportedError(
            f"option tag.automatic-creation of table {layout.name}: {options.tag_creation} is not "
            "supported; expected none or process-time"
        )
    if options.tag_delay >= TAG_PERIODS[options.tag_period]:
        raise TableError(
            f"option tag.creation-delay of table {layout.name}: expected less than the period of "
            f"automatic tags ({options.tag_period}), found {options.tag_delay:g} s"
        )


def _check_partitions(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if partitions are to go by their age and the table has none, or it is not
    said which of their columns names the period.
    """
    expires = options.partition_seconds is not None
    if not layout.partition_keys and (expires or options.auto_partitions):
        name = "partition.expiration-time" if expires else "table.auto-partition.enabled"
        raise TableError(f"table {layout.name}: Can not set {name} for non-partitioned table.")
    if (form := options.partition_formatter) is not None:
        given(f"option partition.timestamp-formatter of table {layout.name}", form, pattern)
    if options.partition_pattern is not None and layout.partition_keys:
        check_partition_pattern(
            layout, f"option {TableOptions.partition_pattern.name}", options.partition_pattern
        )
    if not options.auto_partitions:
        return
    key, named = options.auto_partition_key, ", ".join(layout.partition_keys)
    if key is None and len(layout.partition_keys) > 1:
        raise TableError(
            f"table {layout.name}: table.auto-partition.key is not set; expected the partition "
            f"column that names the period, one of {named}"
        )
    if key is not None and key.lower() not in map(str.lower, layout.partition_keys):
        raise TableError(
            f"table {layout.name}: table.auto-partition.key is {shown(key)}, expected a partition "
            f"column, one of {named}"
        )


def check_partition_pattern(layout: TableLayout, what: str, text: str) -> None:
    """Raises TableError if the text of a partition's time names no partition column, or another
    one: no partition would ever go.
    """
    left = text
    for name in sorted(layout.partition_keys, key=len, reverse=True):
        left = left.replace(f"${name}", "")
    if left == text or "$" in left:
        raise TableError(
            f"{what} of table {layout.name}: expected partition columns behind a $, of "
            f"{', '.join(layout.partition_keys)}, found '{shown(text)}'"
        )


def check_option(layout: TableLayout, name: str, text: str) -> None:
    """Refuse one option that is unknown, unsupported or has a bad value."""
    if name.startswith((TAG_PREFIX, PIPELINES_PREFIX, DEFAULT_PREFIX, INITIAL_PREFIX)):
        return
    if any(name in tuned for tuned in TUNING.values()):
        return None
    option = known(layout.options.get("merge-engine")).get(name)
    if option is None:
        if not check_index_option(layout.name, name, text):
            _check_field_option(layout, name)
        return None
    if name == "bucket" and re.fullmatch(r"\s*(0|-[03-9]|-\d\d+)\s*", text):
        raise NotSupportedError(
            f"option bucket of table {layout.name}: expected a number from 1, -1 for dynamic "
            f"buckets, or -2 for postponed ones, found '{text}'"
        )
    error = NotSupportedError if option.has_one_value else TableError
    given(f"option {name} of table {layout.name}", text, option.parse, error)
    return None


def _check_field_option(layout: TableLayout, name: str) -> None:
    """Refuse a missing column; the suffix is checked where the aggregates are known."""
    match = FIELD.match(name)
    if match is None:
        raise unknown_option(layout.name, name, layout.options.get("merge-engine"))
    for column in names(match[1]):
        _check_field(layout, name, column)


def _check_field(layout: TableLayout, option: str, column: str) -> None:
    if layout.has_column(column):
        return
    row, dot, rest = column.partition(".")
    if dot and layout.has_column(row):
        reason = f"column {row} has no fields, and columns no option that begins with {rest}"
        if isinstance(layout.column(row).type, logical.Row):
            reason = f"Nested-field path is not supported on ROW field {row}"
        raise NotSupportedError(f"option {option} of table {layout.name}: {reason}")
    raise TableError(
        f"option {shown(option)} of table {layout.name}: Field {shown(column)} can not be found in "
        f"table schema. It has {', '.join(own.name for own in layout.columns)}"
    )


def _check_key(layout: TableLayout) -> None:
    table, key = layout.name, layout.primary_key
    if not key:
        words = "Merge engine is only supported in primary key table. "
        raise TableError(
            f"table {table} has no primary key. {words if 'merge-engine' in layout.options else ''}"
            "Add PRIMARY KEY (columns), or the property 'primary-key' = 'columns'; in Python "
            "primary_key=['column']"
        )
    if len(set(key)) != len(key):
        raise TableError(f"table {table}: the primary key names a column twice: {', '.join(key)}")
    if not layout.key:
        raise TableError(
            f"table {table}: the primary key holds only partition columns; add another column"
        )


def _check_columns(layout: TableLayout, options: TableOptions) -> None:
    if options.version_column is not None:
        _check_version(layout, options.version_column)
    _check_named(layout, "bucket-key", options.bucket_key)
    _check_named(layout, "sequence.field", options.sequence_fields)
    _check_named(layout, TableOptions.changelog_ignored.name, options.changelog_ignored)
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
    check_ids(layout, options)
    check_on_write(layout, options)
    check_row_times(layout, options)
    if options.snapshot_ordering:
        _check_snapshot_ordering(layout, options)
    if options.partial_insert:
        _check_partial_insert(layout, options)


def _check_partial_insert(layout: TableLayout, options: TableOptions) -> None:
    is_partial = options.engine.takes_partial_writes and options.version_column is None
    if not is_partial or not layout.primary_key:
        shown_engine = fluss.engine_name(options.engine, options.version_column)
        found = f"merge engine {shown_engine}" if layout.primary_key else "no primary key"
        raise TableError(
            f"option keyfold.partial-insert of table {layout.name}: expected a primary key and an "
            f"engine that takes writes of some columns, found {found}"
        )


def _check_snapshot_ordering(layout: TableLayout, options: TableOptions) -> None:
    """Check as Paimon's SchemaValidation does, in its words."""
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
            raise TableError(f"{where}: {what}: '{shown(name)}' can not be found in table schema.")
        if columns.count(name) > 1:
            raise TableError(f"{where}: {what} '{name}' is defined repeatedly.")


def check_ordered(layout: TableLayout, option: str, name: str) -> None:
    """Raises TableError if a column can't order rows: ARRAY, MAP and STRUCT have no order."""
    kind = layout.column(name).type
    if not isinstance(kind, logical.Atomic):
        raise TableError(
            f"option {option} of table {layout.name}: column {name} must be of an atomic type, "
            f"it is {logical.describe(kind)}"
        )


def _check_version(layout: TableLayout, name: str) -> None:
    """Check the version column; the words are Fluss'."""
    where = f"table {layout.name}, option {fluss.VERSION}"
    if not layout.has_column(name):
        raise TableError(
            f"{where}: The version column '{name}' for versioned merge engine doesn't exist in "
            "schema."
        )
    kind = layout.column(name).type
    if getattr(kind, "name", None) not in _VERSIONS:
        raise TableError(
            f"{where}: The version column '{name}' for versioned merge engine must be one type of "
            f"[{', '.join(_VERSIONS)}], but got {logical.describe(kind)}."
        )


def _check_row_kind(layout: TableLayout, name: str) -> None:
    _check_named(layout, "rowkind.field", (name,))
    root = getattr(layout.column(name).type, "name", None)
    if root not in ("STRING", "CHAR", "VARCHAR"):
        raise TableError(
            f"option rowkind.field of table {layout.name}: "
            f"column {name} must be a STRING, it is {root}"
        )
