"""Options that are no attributes of `TableOptions`: those of tables with postponed buckets and of
file indexes, and those that are checked, and read only as texts, if at all.
"""

from typing import Any

from keyfold.options.option import Option, optional
from keyfold.options.values import boolean, byte_size, names, nothing_or, one_of, whole


def _fixed(name: str, value: str, doc: str, **traits: Any) -> Option[str]:
    """An option with one value: a table may name it; every other value is refused."""
    return Option(name, one_of(value.lower()), value, doc, has_one_value=True, **traits)


# fmt: off
TO_BUCKETS = Option("postpone.batch-write-fixed-bucket", boolean, "true",
    "With `bucket` = -2: whether jobs write rows to buckets, where they are seen at once; if not, "
    "they are seen when `sys.compact` has given them buckets.", changes="by ALTER")
READS_WAITING = Option("postpone.merge-on-read", boolean, "false",
    "With `bucket` = -2: whether scans and look-ups merge the rows that have no buckets yet, as if "
    "they had come last.", changes="by ALTER")
FIRST_BUCKETS = Option("postpone.default-bucket-num", optional(whole(1, 32767)), None,
    "With `bucket` = -2: number of buckets that a partition begins with; 4 if not set.",
    changes="by ALTER")
MOST_FIRST = Option("postpone.batch-write-fixed-bucket.max-parallelism", whole(1), "2048",
    "With `bucket` = -2: most buckets that a partition begins with.", changes="by ALTER")
INDEXED = Option("file-index.bloom-filter.columns", names, None,
    "Columns of which each data file has a Bloom filter, for look-ups of keys that it lacks. "
    "`file-index.bloom-filter.<column>.items` (1000000) and `….fpp` (0.1) say for how many values, "
    "and which part of others seems to be there.", absent=(), names_columns=True)
IN_MANIFEST = Option("file-index.in-manifest-threshold", nothing_or(byte_size), "500 b",
    "Largest index that is a part of its file's manifest entry; others are files beside it.")
READS_INDEXES = Option("file-index.read.enabled", boolean, "true",
    "Whether look-ups and scans use the indexes of files.")
PARSED: tuple[Option[Any], ...] = (
    TO_BUCKETS, READS_WAITING, FIRST_BUCKETS, MOST_FIRST, INDEXED, IN_MANIFEST, READS_INDEXES,
)
KEY_NULLABLE = Option("primary-key.nullable", boolean, "false",
    "Whether key columns, all of them, may hold NULL, which is a value of its own.",
    changes="never")
TEXTS: tuple[Option[Any], ...] = (
    KEY_NULLABLE,
    Option("partition.legacy-name", boolean, "true",
        "Whether partition directories are spelled as Java prints the stored value.",
        changes="while empty"),
    Option("table.auto-partition.num-precreate", whole(0), "2",
        "Fluss': accepted, and without effect: rows make their partitions."),
    _fixed("type", "table", "Kind of table.", changes="never", required_to="read or write"),
    _fixed("file.format", "parquet", "Format of data files.", changes="never",
        required_to="write"),
    _fixed("manifest.format", "avro", "Format of manifests.", required_to="read or write"),
    _fixed("manifest.compression", "zstd", "Codec of manifests."),
    _fixed("metadata.stats-mode", "truncate(16)", "Statistics kept of each column."),
    _fixed("changelog-file.format", "parquet", "Format of changelog files.", required_to="write"),
    _fixed("changelog-file.stats-mode", "truncate(16)", "Statistics kept of changelog files."),
    _fixed("row-tracking.enabled", "false", "Row ids for append tables.",
        required_to="read or write"),
    _fixed("data-evolution.enabled", "false", "Column files for append tables.",
        required_to="read or write"),
    _fixed("bucket-function.type", "default", "Hash of the bucket key.", required_to="write"),
    _fixed("file.suffix.include.compression", "false", "Codec in names of data files."),
    _fixed("partition.default-name", "__DEFAULT_PARTITION__", "Directory of the NULL partition.",
        changes="while empty"),
)
# fmt: on
