"""The options of a table: one declaration each, from which everything else follows.

The names are Paimon's; an alias is another system's spelling that CREATE translates. An engine
declares its own options, and an aggregate its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from keyfold.options.column_options import ON_WRITE
from keyfold.options.engines import Traits, default, engines, traits
from keyfold.options.option import Option, optional
from keyfold.options.unparsed import PARSED, TEXTS
from keyfold.options.values import (  # fmt: skip
    boolean,
    byte_size,
    duration,
    file_prefix,
    kinds_of_texts,
    lower,
    names,
    one_of,
    period_form,
    ratio,
    whole,
    word,
    zone_name,
)

T = TypeVar("T")

# Stored at CREATE when `bucket` is not named.
DEFAULT_BUCKETS = 4
TAG_PREFIX = "keyfold.tag."
PIPELINES_PREFIX = "pipelines."  # what Spark's declarative pipelines keep with their tables
TAG_PERIODS = {"daily": 86400, "hourly": 3600, "two-hours": 7200}  # seconds
TAG_CREATION_ELSEWHERE = ("watermark", "batch")  # modes that other engines have
DEFAULT_PREFIX = "keyfold.default."
VECTORS = "deletion-vectors.enabled"
# A column's value in rows stored before the column was added: the wire's literal, as JSON.
INITIAL_PREFIX = "keyfold.initial-default."


def _buckets(text: str) -> int:
    """A number of buckets; -2 if rows get them later, -1 if index files say those of keys."""
    negative = -2 if text == "-2" else -1
    return negative if re.fullmatch(r"-\d+", text) else whole(1, 32767)(text)


def _is_descending(text: str) -> bool:
    return one_of("ascending", "descending")(text) == "descending"


def _is_serializable(text: str) -> bool:
    return one_of("snapshot", "serializable")(text) == "serializable"


@dataclass(frozen=True)
class TableOptions:
    """The options of one table, parsed; sizes are bytes, durations seconds.

    Every attribute below `engine` declares an option and is its value. The value of an option that
    an engine declares is `options[OPTION]`.
    """

    values: Mapping[str, Any] = field(repr=False)
    by_field: Mapping[str, Mapping[str, str]]
    engine: Traits = field(repr=False, compare=False)

    def __getitem__(self, option: Option[T]) -> T:
        value: T = self.values[option.name]
        return value

    def field_options(self, column: str) -> Mapping[str, str]:
        """The options of one column, `fields.<column>.<suffix>`, by suffix."""
        return self.by_field.get(column, {})

    @property
    def on_write(self) -> tuple[str, ...]:
        """The columns that each write sets."""
        named = [of for of, found in self.by_field.items() if ON_WRITE in found]
        return tuple(column for of in named for column in names(of))

    @property
    def highest_level(self) -> int:
        """The level of files that a full compaction makes."""
        return (self.levels or self.compaction_trigger + 1) - 1

    @property
    def is_dynamic(self) -> bool:
        """Whether index files say which bucket a key is in."""
        return self.bucket == -1

    @property
    def orders_records(self) -> bool:
        """Whether the last record stays, and a `sequence.field` says which is the last."""
        return self.engine.is_default and bool(self.sequence_fields)

    @property
    def expires_partitions(self) -> bool:
        """Whether partitions go by their age."""
        return self.partition_seconds is not None or self.auto_partitions

    # fmt: off
    merge_engine = Option("merge-engine", lower, None, "How rows of one key fold.",
        changes="while empty")
    bucket = Option("bucket", _buckets, None,
        f"Number of buckets of a partition; {DEFAULT_BUCKETS} if not set, -1 if the key lacks a "
        "partition column. -1: as many as its keys need; -2: rows get them later.", absent=-1,
        aliases=("bucket.num",), changes="while empty")
    bucket_keys = Option("dynamic-bucket.target-row-num", whole(1), "2000000",
        "With `bucket` = -1: keys of a bucket at which keys that come go to another.")
    first_buckets = Option("dynamic-bucket.initial-buckets", optional(whole(1, 32767)), None,
        "With `bucket` = -1: most buckets that a partition begins with.")
    most_buckets = Option("dynamic-bucket.max-buckets", whole(-1, 32767), "-1",
        "With `bucket` = -1: most buckets of a partition, which then grow; 32,767 if it is -1.")
    bucket_assigners = Option("dynamic-bucket.assigner-parallelism", optional(whole(1, 32767)),
        None, "With `bucket` = -1: parts of the keys of a partition, by their hash, each of which "
        f"gets buckets of its own from one task; {DEFAULT_BUCKETS} if not set.")
    bucket_key = Option("bucket-key", names, None,
        "Columns hashed into the bucket; the key less partition columns if not set.",
        absent=(), aliases=("bucket.key",), changes="while empty", names_columns=True)
    sequence_fields = Option("sequence.field", names, None,
        "Columns that order the rows of a key; the greatest is folded last.", absent=(),
        changes="while empty", names_columns=True)
    sequence_descending = Option("sequence.field.sort-order", _is_descending, "ascending",
        "Whether the greatest or the smallest sequence value is folded last.",
        changes="while empty")
    is_serializable = Option("keyfold.row-changes.isolation", _is_serializable, "snapshot",
        "Whether a DELETE, UPDATE or MERGE is refused if others have changed rows that it writes "
        "(snapshot), or any rows of the table (serializable).")
    deletes_seconds = Option("keyfold.deletes.time-retained", duration, "30 d",
        "How long compactions keep deletes of which nothing older is left, and which fold with "
        "rows that come later: under a `sequence.field` they hide them.")
    snapshot_ordering = Option("sequence.snapshot-ordering", boolean, "false",
        "Whether rows of a later snapshot are folded last, whenever their job began; needs "
        "write-only.",
        changes="while empty")
    rowkind_field = Option("rowkind.field", optional(word), None,
        "STRING column that holds +I, -U, +U or -D.", changes="while empty", names_columns=True)
    rowkind_map = Option("keyfold.rowkind.map", kinds_of_texts, None,
        "The kinds that other texts mean, as c=+I, r=+I, u=+U, d=-D for Debezium's; NULL is then "
        "+I.", absent={}, changes="by ALTER")
    ignore_delete = Option("ignore-delete", boolean, "false", "Whether writes drop -U and -D rows.",
        changes="by ALTER")
    ignore_update_before = Option("ignore-update-before", boolean, "false",
        "Whether writes drop -U rows.", changes="by ALTER")
    delete_behavior = Option("table.delete.behavior",
        optional(one_of("allow", "ignore", "disable")), None,
        "Fluss': deletes remove rows, are dropped, or are refused.", changes="never")
    version_column = Option("table.merge-engine.versioned.ver-column", optional(word), None,
        "Fluss': the version column of `table.merge-engine` = versioned; NULL is the least "
        "version.", changes="never", names_columns=True)
    default_aggregate = Option("fields.default-aggregate-function", optional(word), None,
        "Aggregate of the columns that name none.", aliases=("fields.default-agg",),
        changes="by ALTER")
    id_columns = Option("auto-increment.fields", names, None,
        "Fluss': an INT or BIGINT column that each new key gets a number of its own in.", absent=(),
        changes="never", names_columns=True)
    ids_at_once = Option("table.auto-increment.cache-size", whole(1, 2**31 - 1), "100000",
        "Numbers that a bucket takes at once for `auto-increment.fields`.",
        aliases=("table.auto-inc.batch-size",), changes="never")
    lookups_insert = Option("lookup.insert-if-not-exists", boolean, "false",
        "Fluss': whether joins with the hint `LOOKUP` insert the keys that they do not find; an "
        "option of a reader, too.")
    partial_insert = Option("keyfold.partial-insert", boolean, "false",
        "Whether an INSERT of some columns leaves the others alone, as in Fluss, where every write "
        "replaces the row.", changes="by ALTER")
    target_file_size = Option("target-file-size", byte_size, "128 mb",
        "Size at which a data file is ended.")
    file_compression = Option("file.compression", one_of("zstd", "snappy", "lz4", "gzip", "none"),
        "zstd", "Codec of data files.")
    zstd_level = Option("file.compression.zstd-level", whole(1, 22), "1",
        "Level of the zstd codec.")
    row_group_rows = Option("keyfold.row-group.rows", whole(1024), "65536",
        "Rows in a row group of a data file.")
    sync_files = Option("keyfold.data-file.sync", boolean, "true",
        "Whether data files are flushed to disk before they are committed.")
    verify_files = Option("keyfold.data-file.verify", boolean, "true",
        "Whether queries compare the checksums of pages that they read; compactions always do.",
        per_call=True)
    write_buffer_size = Option("write-buffer-size", byte_size, "256 mb",
        "Bytes that a task buffers before it spills sorted runs to local disk.")
    thin_files = Option("data-file.thin-mode", boolean, "false",
        "Whether data files hold the key once, without the `_KEY_` copies that old readers want.")
    write_only = Option("write-only", boolean, "false",
        "Whether jobs only append runs, and leave compaction to others.")
    compaction_trigger = Option("num-sorted-run.compaction-trigger", whole(1), "5",
        "Number of sorted runs of a bucket at which some are merged.")
    compaction_stop_trigger = Option("num-sorted-run.stop-trigger", optional(whole(1)), None,
        "Number of sorted runs at which a write merges them whatever that takes; 3 more than "
        "the compaction trigger if not set, and never less than it.")
    levels = Option("num-levels", optional(whole(2, 100)), None,
        "Number of levels; 1 more than the compaction trigger if not set.")
    compaction_size_ratio = Option("compaction.size-ratio", whole(0), "1",
        "Percent by which the next run may be larger than the newer ones and still be merged "
        "with them.")
    compaction_max_amplification = Option("compaction.max-size-amplification-percent", whole(0),
        "200", "Bytes of all newer runs, in percent of the oldest, above which all are merged.")
    compaction_small_file_ratio = Option("compaction.small-file-ratio", ratio, "0.7",
        "Part of the target size below which a file that overlaps nothing is joined with its "
        "neighbours.")
    compaction_interval = Option("compaction.optimization-interval", optional(duration), None,
        "How often a bucket is merged to one run, for tables read at their highest level.")
    compaction_total_size = Option("compaction.total-size-threshold", optional(byte_size), None,
        "A bucket of fewer bytes is merged to one run whenever it has several.")
    compaction_incremental_size = Option("compaction.incremental-size-threshold",
        optional(byte_size), None,
        "A bucket with more bytes below the highest level is merged to one run.")
    compaction_write_budget = Option("keyfold.compaction.write-budget", byte_size, "64 mb",
        "Most bytes of files that a write merges after its commit; a bucket at the "
        "stop trigger may exceed it.")
    has_vectors = Option(VECTORS, boolean, "false",
        "Whether compactions mark the rows that newer ones replace, so that reads merge nothing.",
        changes="while empty")
    vectors_merge_on_read = Option("deletion-vectors.merge-on-read", boolean, "false",
        "Whether scans of a table with deletion vectors merge rows that no compaction has marked "
        "yet, in place of leaving them out.", per_call=True)
    vectors_are_wide = Option("deletion-vectors.bitmap64", boolean, "false",
        "Whether deletion vectors are written with positions of 64 bits, in Iceberg's form.")
    split_target_size = Option("source.split.target-size", byte_size, "128 mb",
        "Most bytes of files in one read task; less where cores would idle.", per_call=True)
    split_open_file_cost = Option("source.split.open-file-cost", byte_size, "4 mb",
        "Least bytes that a file counts for when files are shared among read tasks.", per_call=True)
    plan_in_tasks_from = Option("keyfold.plan-in-tasks.files", whole(1), "1000000",
        "Files from which Spark's tasks plan a scan, in ranges of partitions.", per_call=True)
    manifest_target_file_size = Option("manifest.target-file-size", byte_size, "8 mb",
        "Size at which a manifest is ended.")
    manifest_merge_min_count = Option("manifest.merge-min-count", whole(1), "30",
        "Number of small manifests at which a commit merges them.")
    manifest_full_compaction_size = Option("manifest.full-compaction-threshold-size", byte_size,
        "16 mb", "Size of changed manifests at which a commit rewrites them all.",
        aliases=("manifest.full-compaction-threshold",))
    commit_max_retries = Option("commit.max-retries", optional(whole(0)), None,
        "Most retries of a commit that loses races; until commit.timeout if not set.")
    commit_timeout = Option("commit.timeout", duration, "120 s",
        "How long a commit retries a lost race, once it is its turn.")
    commit_min_retry_wait = Option("commit.min-retry-wait", duration, "10 ms",
        "First wait between retries.")
    commit_max_retry_wait = Option("commit.max-retry-wait", duration, "10 s",
        "Longest wait between retries, where four times what an attempt takes is more.")
    snapshots_at_least = Option("snapshot.num-retained.min", whole(1), "10",
        "Snapshots that are kept whatever their age.")
    snapshots_at_most = Option("snapshot.num-retained.max", whole(1), "2147483647",
        "Most snapshots that are kept, whatever their age.")
    snapshot_seconds = Option("snapshot.time-retained", duration, "1 h",
        "How long snapshots are kept after the next one.")
    snapshot_expire_limit = Option("snapshot.expire.limit", whole(1), "50",
        "Most snapshots that expire after one commit.")
    snapshot_expire_mode = Option("snapshot.expire.execution-mode", one_of("sync", "async"),
        "async", "Whether a job waits for the expiry that follows its commit.")
    tag_creation = Option("tag.automatic-creation",
        one_of("none", "process-time", "watermark", "batch"), "none",
        "Whether commits tag the first snapshot after each period, by the time of the commit "
        "(process-time); watermark and batch are other engines'.")
    tag_period = Option("tag.creation-period", one_of(*TAG_PERIODS), "daily",
        "Period of automatic tags.")
    tag_delay = Option("tag.creation-delay", duration, "0 ms",
        "How long after its period an automatic tag is made.")
    tag_format = Option("tag.period-formatter",
        one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"), "with_dashes",
        "Form of the names of automatic tags.")
    tags_at_most = Option("tag.num-retained-max", optional(whole(1)), None,
        "Most automatic tags that are kept.")
    tag_seconds = Option("tag.default-time-retained", optional(duration), None,
        "How long tags are kept that do not say so themselves.")
    tag_completion = Option("tag.automatic-completion", boolean, "false",
        "Whether automatic tags are also made for periods without a commit.")
    tag_time_expiry = Option("tag.time-expire-enabled", boolean, "true",
        "Whether commits delete the tags whose time is over.")
    streams_seconds = Option("keyfold.streams.time-retained", duration, "30 d",
        "How long snapshots name a stream and its last epoch, so that a batch which is written "
        "again is recognised.")
    changelog_producer = Option("changelog-producer",
        one_of("none", "input", "lookup", "full-compaction"), "none",
        "How changelog files are made: of the records that come in and the rows that statements "
        "replace, by the compaction that follows a write, by full compactions, or not at all.",
        changes="by ALTER")
    changelog_deduplicates = Option("changelog-producer.row-deduplicate", boolean, "true",
        "Whether rows that are written again as they are make no change.", changes="by ALTER")
    changelog_ignored = Option("changelog-producer.row-deduplicate-ignore-fields", names, None,
        "Columns whose values alone make no change.", absent=(), changes="by ALTER",
        names_columns=True)
    delta_commits = Option("full-compaction.delta-commits", optional(whole(1)), None,
        "Number of commits after which a table with changelog-producer = full-compaction is merged "
        "and its changes are written; each commit if not set.")
    changelog_interval = Option("changelog-producer.compaction-interval", optional(duration), None,
        "Longest time between such full compactions: a write merges the table if the last is "
        "older. full-compaction.delta-commits wins.")
    changelog_drops_before = Option("keyfold.changelog.ignore-update-before", boolean, "false",
        "Whether changelogs leave out the rows before updates (-U), by a producer that compares.",
        changes="by ALTER", aliases=("changelog-producer.ignore-update-before",))
    changelog_drops_deletes = Option("keyfold.changelog.ignore-delete", boolean, "false",
        "Whether changelogs leave out deletes (-D), by a producer that compares.",
        changes="by ALTER", aliases=("changelog-producer.ignore-delete",))
    lookup_wait = Option("lookup-wait", boolean, "true",
        "Whether a write to a table with changelog-producer = lookup, or deletion vectors, waits "
        "until its changes are written, or its rows are seen; if not, the next compaction does it.",
        aliases=("changelog-producer.lookup-wait",))
    changelog_prefix = Option("changelog-file.prefix", file_prefix, "changelog-",
        "How the names of changelog files begin.", changes="by ALTER")
    changelog_compression = Option("changelog-file.compression",
        optional(one_of("zstd", "snappy", "lz4", "gzip", "none")), None,
        "Codec of changelog files; that of data files if not set.")
    changelogs_at_least = Option("changelog.num-retained.min", optional(whole(1)), None,
        "Snapshots whose changes are kept whatever their age; if not set, as for snapshots.")
    changelogs_at_most = Option("changelog.num-retained.max", optional(whole(1)), None,
        "Most snapshots whose changes are kept; if not set, as for snapshots.")
    changelog_seconds = Option("changelog.time-retained", optional(duration), None,
        "How long changes are kept; if not set, as for snapshots.")
    partition_seconds = Option("partition.expiration-time", optional(duration), None,
        "Age at which partitions go; they stay if not set.")
    partition_check_seconds = Option("partition.expiration-check-interval", duration, "1 h",
        "How often commits of a process look for partitions that are too old.")
    partition_check_last = Option("end-input.check-partition-expire", boolean, "false",
        "Whether each commit of a batch job looks for them.")
    partition_strategy = Option("partition.expiration-strategy",
        one_of("values-time", "update-time"), "values-time",
        "Whether a partition's age is that of its values, or that of its last write.")
    partition_formatter = Option("partition.timestamp-formatter", optional(str), None,
        "Pattern of Java by which a text is a time, as yyyyMMdd; yyyy-MM-dd, with HH:mm:ss after a "
        "blank or without, if not set.")
    partition_pattern = Option("partition.timestamp-pattern", optional(str.strip), None,
        "The text of a partition's time, as $dt $hour:00:00; its first value if not set.")
    partitions_at_once = Option("partition.expiration-max-num", whole(1), "100",
        "Most partitions that go at once.")
    partitions_of_batch = Option("partition.expiration-batch-size", optional(whole(1)), None,
        "Most partitions that go in one commit.")
    partition_changes = Option("keyfold.partition.expiration-changes", boolean, "false",
        "Whether changes and streams show rows that go with their partition as deleted.")
    old_writes = Option("keyfold.partition.old-writes",
        optional(one_of("accept", "refuse", "drop")), None,
        "What becomes of rows written into a partition whose values are too old; auto-partitions "
        "refuse them if not set, others accept them.")
    row_seconds = Option("record-level.expire-time", optional(duration), None,
        "Age at which rows go, by `record-level.time-field`; they stay if not set.")
    row_time = Option("record-level.time-field", optional(word), None,
        "INT, BIGINT or TIMESTAMP column that says how old a row is.", names_columns=True)
    row_time_unit = Option("record-level.time-field-type",
        optional(one_of("seconds-int", "seconds-long", "millis-long", "timestamp")), None,
        "Unit of the time's numbers; if not set, those of a BIGINT from 10^12 on are milliseconds "
        "and all others seconds.")
    row_changes = Option("keyfold.record-level.expiration-changes", boolean, "false",
        "Whether changes and streams show rows that go by their age as deleted.",
        changes="by ALTER")
    auto_partitions = Option("table.auto-partition.enabled", boolean, "false",
        "Fluss': only the partitions of the last periods are kept; none is made ahead.")
    auto_partition_key = Option("table.auto-partition.key", optional(word), None,
        "Fluss': the partition column that says the period.", names_columns=True)
    auto_partition_unit = Option("table.auto-partition.time-unit",
        one_of("hour", "day", "month", "quarter", "year"), "day", "Fluss': the period.")
    auto_partition_format = Option("table.auto-partition.time-format", optional(period_form), None,
        "Fluss': form of the periods; yyyyMMddHH, yyyyMMdd, yyyyMM, yyyyQ or yyyy if not set.")
    auto_partition_retention = Option("table.auto-partition.num-retention", whole(-1 << 31), "7",
        "Fluss': periods before this one that are kept; all if it is negative.")
    auto_partition_zone = Option("table.auto-partition.time-zone", optional(zone_name), None,
        "Fluss': the zone of the clock; that of the process if not set.")
    changelog_image = Option("table.changelog.image", one_of("full", "wal"), "full",
        "Fluss': whether an update shows the row before it, by a producer that compares.",
        changes="never")
    # fmt: on


def declared() -> list[Option[Any]]:
    """The options of all tables, most of which are attributes of `TableOptions`."""
    found = (*vars(TableOptions).values(), *PARSED)
    return [value for value in found if isinstance(value, Option)]


@cache
def _parsed() -> dict[str, Option[Any]]:
    """The options that `parse` parses, by name: the attributes, and those of keyfold's engines."""
    found = [*declared(), *(option for one in engines().values() for option in one.options)]
    named = {option.name: option for option in found}
    assert len(named) == len(found), "an option is declared twice"
    engine = TableOptions.merge_engine
    return named | {engine.name: replace(engine, default=default().name)}


def known(engine: str | None = None) -> dict[str, Option[Any]]:
    """All options by name, with those that the engine of a table declares."""
    return parsed_with(engine) | {option.name: option for option in TEXTS}


def parsed_with(engine: str | None) -> dict[str, Option[Any]]:
    """The options whose values `TableOptions` holds for a table of this engine."""
    own = () if engine is None else traits(engine.strip().lower()).options
    return _parsed() | {option.name: option for option in own}


@cache
def aliases() -> dict[str, str]:
    """The names of options by their other names."""
    found = {alias: option.name for option in known().values() for alias in option.aliases}
    for engine in engines().values():
        found |= engine.aliases
    return found
