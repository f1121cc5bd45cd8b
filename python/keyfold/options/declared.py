"""The options of a table: one declaration each, the source of parsing and checks.

The names are Paimon's; an alias is another system's spelling that CREATE translates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.options.values import (
    boolean,
    byte_size,
    duration,
    lower,
    names,
    one_of,
    ratio,
    whole,
    word,
)

# Stored at CREATE when `bucket` is not named.
DEFAULT_BUCKETS = 4
KEY_NULLABLE = "primary-key.nullable"
EXPIRE_LIMIT = "snapshot.expire.limit"
FIELD_DEFAULT_AGGREGATE = "fields.default-aggregate-function"


@dataclass(frozen=True)
class Option:
    """One option; `attribute` is its place in `TableOptions`, None if it has but one value."""

    name: str
    attribute: str | None
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    aliases: tuple[str, ...] = ()


# fmt: off
OPTIONS: tuple[Option, ...] = (
    Option("merge-engine", "merge_engine", lower, "deduplicate", "How rows of one key fold."),
    Option("bucket", "bucket", whole(1, 32767), None,
           f"Number of buckets of a partition; {DEFAULT_BUCKETS} when not named.",
           ("bucket.num",)),
    Option("bucket-key", "bucket_key", names, None,
           "Columns hashed into the bucket; the key less partition columns when not named.",
           ("bucket.key",)),
    Option(KEY_NULLABLE, "key_nullable", boolean, "false",
           "Key columns, all of them, may hold NULL, which is a value of its own."),
    Option("sequence.field", "sequence_fields", names, None,
           "Columns that order the rows of a key; the greatest is folded last."),
    Option("sequence.field.sort-order", "sequence_order", one_of("ascending", "descending"),
           "ascending", "Whether the greatest or the smallest sequence value is folded last."),
    Option("sequence.snapshot-ordering", "snapshot_ordering", boolean, "false",
           "Rows of a later snapshot are folded last, whenever their job began; needs write-only."),
    Option("rowkind.field", "rowkind_field", word, None,
           "STRING column that holds +I, -U, +U or -D."),
    Option("ignore-delete", "ignore_delete", boolean, "false", "Drop -U and -D rows when writing.",
           ("first-row.ignore-delete", "deduplicate.ignore-delete",
            "partial-update.ignore-delete")),
    Option("ignore-update-before", "ignore_update_before", boolean, "false",
           "Drop -U rows when writing."),
    Option("aggregation.remove-record-on-delete", "remove_record_on_delete", boolean, "false",
           "A -D removes the row instead of being retracted from its columns."),
    Option("partial-update.remove-record-on-delete", "partial_remove_on_delete", boolean, "false",
           "A -D removes the row, where there are no sequence groups."),
    Option("partial-update.remove-record-on-sequence-group", "remove_on_sequence_group", names,
           None, "Sequence fields; a -D that is not older in their group removes the row."),
    Option("table.delete.behavior", "delete_behavior", one_of("allow", "ignore", "disable"), None,
           "Fluss': deletes remove rows, are dropped, or are refused."),
    Option("table.merge-engine.versioned.ver-column", "version_column", word, None,
           "Fluss': the version column of `table.merge-engine` = versioned; "
           "NULL is the least version."),
    Option("table.changelog.image", "changelog_image", one_of("full", "wal"), "full",
           "Fluss': whether changes come with the row before."),
    Option(FIELD_DEFAULT_AGGREGATE, "default_aggregate", word, None,
           "Aggregate of the columns that name none.", ("fields.default-agg",)),
    Option("target-file-size", "target_file_size", byte_size, "128 mb",
           "Size at which a data file is ended."),
    Option("file.compression", "file_compression", one_of("zstd", "snappy", "lz4", "gzip", "none"),
           "zstd", "Codec of data files."),
    Option("file.compression.zstd-level", "zstd_level", whole(1, 22), "1",
           "Level of the zstd codec."),
    Option("keyfold.row-group.rows", "row_group_rows", whole(1024), "65536",
           "Rows in a row group of a data file."),
    Option("keyfold.data-file.sync", "sync_files", boolean, "true",
           "Flush data files to disk before they are committed."),
    Option("keyfold.data-file.verify", "verify_files", boolean, "true",
           "Compare checksums of pages that a query reads; compaction always does."),
    Option("write-buffer-size", "write_buffer_size", byte_size, "256 mb",
           "Bytes a task buffers before it spills sorted runs to local disk."),
    Option("data-file.thin-mode", "thin_files", boolean, "false",
           "Data files hold the key once: without the `_KEY_` copies that old readers want."),
    Option("write-only", "write_only", boolean, "false",
           "A job only appends runs and leaves compaction to others."),
    Option("num-sorted-run.compaction-trigger", "compaction_trigger", whole(1), "5",
           "Number of sorted runs of a bucket at which some are merged."),
    Option("num-sorted-run.stop-trigger", "compaction_stop_trigger", whole(1), None,
           "Number of sorted runs at which a write merges them whatever that takes; 3 more than "
           "the compaction trigger when not named, never less than it."),
    Option("num-levels", "levels", whole(2, 100), None,
           "Number of levels; 1 more than the compaction trigger when not named."),
    Option("compaction.size-ratio", "compaction_size_ratio", whole(0), "1",
           "Percent by which the next run may be larger than the newer ones and still be merged "
           "with them."),
    Option("compaction.max-size-amplification-percent", "compaction_max_amplification", whole(0),
           "200", "Bytes of all newer runs, in percent of the oldest, above which all are merged."),
    Option("compaction.small-file-ratio", "compaction_small_file_ratio", ratio, "0.7",
           "Part of the target size below which a file that overlaps nothing is joined with its "
           "neighbours."),
    Option("compaction.optimization-interval", "compaction_interval", duration, None,
           "How often a bucket is merged to one run, for tables read at their highest level."),
    Option("compaction.total-size-threshold", "compaction_total_size", byte_size, None,
           "A bucket of fewer bytes is merged to one run whenever it has several."),
    Option("compaction.incremental-size-threshold", "compaction_incremental_size", byte_size,
           None, "A bucket with more bytes below the highest level is merged to one run."),
    Option("keyfold.compaction.write-budget", "compaction_write_budget", byte_size, "64 mb",
           "Bytes of files that a write merges at most when it has committed; a bucket at the "
           "stop trigger may exceed it."),
    Option("source.split.target-size", "split_target_size", byte_size, "128 mb",
           "Bytes of files in one read task at most; less where cores would idle."),
    Option("source.split.open-file-cost", "split_open_file_cost", byte_size, "4 mb",
           "Bytes a file counts for at least when read tasks are made."),
    Option("manifest.target-file-size", "manifest_target_file_size", byte_size, "8 mb",
           "Size at which a manifest is ended."),
    Option("manifest.merge-min-count", "manifest_merge_min_count", whole(1), "30",
           "Number of small manifests at which a commit merges them."),
    Option("manifest.full-compaction-threshold-size", "manifest_full_compaction_size", byte_size,
           "16 mb", "Size of changed manifests at which a commit rewrites them all.",
           ("manifest.full-compaction-threshold",)),
    Option("commit.max-retries", "commit_max_retries", whole(0), "10",
           "How often a commit retries a lost race."),
    Option("commit.timeout", "commit_timeout", duration, "120 s",
           "How long a commit retries a lost race."),
    Option("commit.min-retry-wait", "commit_min_retry_wait", duration, "10 ms",
           "First wait between retries."),
    Option("commit.max-retry-wait", "commit_max_retry_wait", duration, "10 s",
           "Longest wait between retries."),
    Option("snapshot.num-retained.min", "snapshots_at_least", whole(1), "10",
           "Snapshots that are kept whatever their age."),
    Option("snapshot.num-retained.max", "snapshots_at_most", whole(1), "2147483647",
           "Snapshots that are kept at most, whatever their age."),
    Option("snapshot.time-retained", "snapshot_seconds", duration, "1 h",
           "How long snapshots are kept after the next one."),
    Option(EXPIRE_LIMIT, "snapshot_expire_limit", whole(1), "50",
           "Snapshots that expire at most after one commit."),
    Option("snapshot.expire.execution-mode", "snapshot_expire_mode", one_of("sync", "async"),
           "async", "Whether a job waits for the expiry that follows its commit."),
    # One value each: named so that a table may say it, refused otherwise.
    Option("type", None, one_of("table"), "table", "Kind of table."),
    Option("file.format", None, one_of("parquet"), "parquet", "Format of data files."),
    Option("manifest.format", None, one_of("avro"), "avro", "Format of manifests."),
    Option("manifest.compression", None, one_of("zstd"), "zstd", "Codec of manifests."),
    Option("metadata.stats-mode", None, one_of("truncate(16)"), "truncate(16)",
           "Statistics kept of each column."),
    Option("changelog-producer", None, one_of("none"), "none", "Who writes changelog files."),
    Option("deletion-vectors.enabled", None, one_of("false"), "false",
           "Mark replaced rows in bitmaps."),
    Option("row-tracking.enabled", None, one_of("false"), "false", "Row ids for append tables."),
    Option("data-evolution.enabled", None, one_of("false"), "false",
           "Column files for append tables."),
    Option("bucket-function.type", None, one_of("default"), "default", "Hash of the bucket key."),
    Option("file.suffix.include.compression", None, one_of("false"), "false",
           "Codec in names of data files."),
    Option("partition.legacy-name", None, boolean, "true",
           "Spell partition directories as Java prints the stored value."),
    Option("partition.default-name", None, one_of("__default_partition__"),
           "__DEFAULT_PARTITION__", "Directory of the NULL partition."),
)
# fmt: on

# Those of single aggregates are their parameters, checked where the aggregates are known.
FIELD_OPTIONS: Mapping[str, str] = {
    "aggregate-function": "Aggregate of the column under merge-engine aggregation, or in a "
    "sequence group.",
    "ignore-retract": "Leave -U and -D rows out of the column's aggregate.",
    "sequence-group": "Under partial-update: columns that change only with a record whose "
    "`<column>` (or columns, separated by commas) is not less than before.",
}
# Fluss puts the function before its parameter, `fields.x.listagg.delimiter`.
FIELD_ALIASES = {
    "agg": "aggregate-function",
    "delimiter": "list-agg-delimiter",
}
