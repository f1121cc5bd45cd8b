"""Names of table options that Apache Paimon knows: CREATE refuses those we lack as unsupported, and
tables of other engines with some of them can't be read or written here.

The lists are from Paimon's own option declarations; the options we support are in `declared`. So
each of Paimon's is honoured, has no effect here (`TUNING`), or is refused. A `#` stands for a name
that the user chooses.
"""

_OPTIONS = """
add-column-before-partition aggregation.remove-record-on-delete
alter-column-null-to-not-null.disabled auto-create batch-scan-mode bitmap-index.compression
bitmap-index.compression-level bitmap-index.dictionary-block-size
bitmap-index.fallback-scan-max-size blob-as-descriptor blob-compaction.enabled blob-descriptor-field
blob-external-storage-field blob-external-storage-path blob-field blob-view-field
blob-view.resolve.enabled blob-write-null-on-fetch-failure blob-write-null-on-missing-file
blob.copy-buffer-size blob.split-by-file-size blob.target-file-size branch btree-index.block-size
btree-index.bloom-filter.enabled btree-index.fallback-scan-max-size btree-index.records-per-range
bucket bucket-append-ordered bucket-function.type bucket-key chain-table.chain-partition-keys
chain-table.enabled chain-table.split.key-range-enabled chain-table.streaming.merge-snapshot
changelog-file.compression changelog-file.format changelog-file.prefix changelog-file.stats-mode
changelog-producer changelog-producer.compaction-interval changelog-producer.row-deduplicate
changelog-producer.row-deduplicate-ignore-fields changelog.num-retained.max
changelog.num-retained.min changelog.time-retained clustering.columns
clustering.history-partition.idle-to-full-sort clustering.history-partition.limit
clustering.incremental clustering.incremental.mode clustering.incremental.optimize-write
clustering.strategy commit.callback.#.param commit.callbacks commit.catalog-option
commit.discard-duplicate-files commit.force-create-snapshot commit.max-retries commit.max-retry-wait
commit.min-retry-wait commit.native.enabled commit.strict-mode.last-safe-snapshot commit.timeout
commit.user-prefix compaction.delete-ratio-threshold compaction.file-num-limit
compaction.force-rewrite-all-files compaction.force-up-level-0 compaction.incremental-size-threshold
compaction.max-size-amplification-percent compaction.max.file-num compaction.min.file-num
compaction.offpeak-ratio compaction.offpeak.end.hour compaction.offpeak.start.hour
compaction.optimization-interval compaction.size-ratio compaction.skip-expired-partitions
compaction.small-file-ratio compaction.total-size-threshold consumer-id consumer.changelog-only
consumer.expiration-time consumer.ignore-progress consumer.mode
cross-partition-upsert.bootstrap-parallelism cross-partition-upsert.index-ttl
data-evolution.compaction.rewrite-row-ids data-evolution.enabled
data-evolution.merge-into.file-pruning data-evolution.merge-into.source-persist
data-evolution.reassign.skip-contiguous-row-count data-evolution.row-id-conflict-rewrite.max-size
data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
data-evolution.row-sidecar.max-selection-ratio data-evolution.write-cols-optimization.enabled
data-file.external-paths data-file.external-paths.specific-fs data-file.external-paths.strategy
data-file.external-paths.weights data-file.path-directory data-file.prefix data-file.thin-mode
deduplicate.ignore-delete delete.force-produce-changelog deletion-vector.index-file.target-size
deletion-vectors.bitmap64 deletion-vectors.enabled deletion-vectors.merge-on-read
deletion-vectors.modifiable disable-alter-column-null-to-not-null disable-explicit-type-casting
dynamic-bucket.assigner-parallelism dynamic-bucket.initial-buckets dynamic-bucket.max-buckets
dynamic-bucket.target-row-num dynamic-partition-overwrite end-input.check-partition-expire
fields.default-aggregate-function file-index.in-manifest-threshold file-index.read.enabled
file.block-size file.compression file.compression.per.level file.compression.zstd-level file.format
file.format.per.level file.suffix.include.compression first-row.ignore-delete force-lookup
format-table.commit-hive-sync-url format-table.file.compression format-table.implementation
format-table.partition-path-only-value format-table.scan.list-parallelism
full-compaction.delta-commits full-text-index.search-mode global-index.build.max-parallelism
global-index.build.max-shard global-index.build.parallelism global-index.column-update-action
global-index.enabled global-index.external-path global-index.filter.refine-from-data
global-index.row-count-per-shard global-index.search-mode global-index.thread-num ignore-delete
ignore-update-before incremental-between incremental-between-scan-mode
incremental-between-tag-to-snapshot incremental-between-timestamp incremental-to-auto-tag
index-file-in-data-file-dir key-value.sequence_number.enabled local-cache.block-size local-cache.dir
local-cache.enabled local-cache.max-size local-cache.whitelist lookup-compact
lookup-compact.max-interval lookup-wait lookup.blob-as-descriptor manifest-sort.enabled
manifest-sort.partition-field manifest.compression manifest.delete-file-drop-stats manifest.format
manifest.full-compaction-threshold-size manifest.merge-min-count manifest.sidecar.enabled
manifest.target-file-size materialized-table.definition-query materialized-table.interval-freshness
materialized-table.interval-freshness.time-unit materialized-table.logical-refresh-mode
materialized-table.refresh-handler-bytes materialized-table.refresh-handler-description
materialized-table.refresh-mode materialized-table.refresh-status merge-engine
metadata.iceberg.format-version metadata.iceberg.storage metadata.iceberg.uri
metadata.stats-dense-store metadata.stats-keep-first-n-columns metadata.stats-mode
metadata.stats-mode.per.level metastore.partitioned-table metastore.tag-to-partition
metastore.tag-to-partition.preview mosaic.num-buckets mosaic.stats-columns num-levels
num-sorted-run.compaction-trigger num-sorted-run.stop-trigger object-location
orc.timestamp-ltz.legacy.type overwrite-compact-threshold overwrite-upgrade parquet.block.size
parquet.enable.dictionary parquet.filter.columnindex.enabled parquet.write-page-index.enabled
partial-update.ignore-delete partial-update.remove-record-on-delete
partial-update.remove-record-on-sequence-group partition partition.default-name
partition.end-input-to-done partition.expiration-batch-size partition.expiration-check-interval
partition.expiration-max-num partition.expiration-strategy partition.expiration-time
partition.idle-time-to-report-statistic partition.legacy-name partition.mark-done-action
partition.mark-done-action.custom.class partition.mark-done-action.http.params
partition.mark-done-action.http.url partition.sink-strategy partition.timestamp-format.strict
partition.timestamp-formatter partition.timestamp-pattern path pk-bitmap.index.columns
pk-btree.index.columns pk-clustering-override pk-full-text.index.columns pk-multivalue.index.columns
pk-vector.index.columns postpone.batch-write-fixed-bucket
postpone.batch-write-fixed-bucket.max-parallelism
postpone.batch-write-fixed-bucket.rescale-load-factor postpone.default-bucket-num
postpone.merge-on-read postpone.target-row-num-per-bucket postpone.target-size-per-bucket
primary-key primary-key.nullable query-auth.enabled read.changelog read.native.enabled
read.parallelism record-level.expire-time record-level.time-field record-level.time-field-type
row-tracking.enabled row-tracking.partition-group-on-commit rowkind.field scalar-index.search-mode
scan.bounded.watermark scan.bucket scan.creation-time-millis scan.fallback-branch
scan.fallback-branch.read-fail-fast scan.fallback-delta-branch scan.fallback-snapshot-branch
scan.file-creation-time-millis scan.ignore-corrupt-files scan.ignore-lost-files
scan.max-splits-per-task scan.mode scan.native-plan.enabled
scan.plan-auto-tag-for-read.time-retained scan.plan-sort-partition scan.primary-branch
scan.snapshot-id scan.tag-name scan.timestamp scan.timestamp-millis scan.version scan.watermark
sequence.field sequence.field.sort-order sequence.snapshot-ordering sink.process-time-zone
sink.watermark-time-zone snapshot.clean-empty-directories snapshot.expire.execution-mode
snapshot.expire.limit snapshot.ignore-empty-commit snapshot.num-retained.max
snapshot.num-retained.min snapshot.time-retained snapshot.watermark-idle-timeout
sort-compaction.local-sample.magnification sort-compaction.range-strategy
sorted-index.records-per-file source.split.open-file-cost source.split.target-size stream-scan-mode
streaming-read-append-overwrite streaming-read-mode streaming-read-overwrite
streaming.read.snapshot.delay table-read.sequence-number.enabled tag.automatic-completion
tag.automatic-creation tag.batch.customized-name tag.callback.#.param tag.callbacks
tag.create-success-file tag.creation-delay tag.creation-period tag.creation-period-duration
tag.default-time-retained tag.num-retained-max tag.period-formatter tag.time-expire-enabled
target-file-row-num target-file-size type upsert-key variant.inferShreddingSchema
variant.shredding.adaptive.maxInferBufferRow variant.shredding.adaptive.retentionRatio
variant.shredding.inferenceMode variant.shredding.maxInferBufferRow variant.shredding.maxSchemaDepth
variant.shredding.maxSchemaWidth variant.shredding.minFieldCardinalityRatio variant.shreddingSchema
vector-field vector-index.search-mode vector-search.distribute.enabled
vector-search.lateral-join.batch-size vector.file.format vector.target-file-size video-frame-field
visibility-callback.check-interval visibility-callback.enabled visibility-callback.timeout
write-buffer-for-append write-buffer-size write-only write.merge-schema
write.merge-schema.explicit-cast write.merge-schema.type-widening write.native.enabled
write.sequence-number-init-mode write.use-v2-write zorder.var-length-contribution
"""
# Those that only tune how another engine's processes buffer, cache, read and compact: a table may
# have them, and they have no effect here.
_TUNING = """
async-file-write cache-page-size commit.force-compact continuous.discovery-interval
delete-file.thread-num file-operation.thread-num file-reader-async-threshold local-kv-db.block-size
local-merge-buffer-size local-sort.max-num-file-handles lookup.cache-file-retention
lookup.cache-max-disk-size lookup.cache-max-memory-size lookup.cache-rows
lookup.cache-spill-compression lookup.cache.bloom.filter.enabled lookup.cache.bloom.filter.fpp
lookup.cache.high-priority-pool-ratio lookup.continuous.discovery-interval lookup.hash-load-factor
lookup.local-file-type lookup.merge-buffer-size lookup.merge-records-threshold
lookup.remote-file.enabled lookup.remote-file.level-threshold manifest-sort.max-rewrite-size
manifest.merge-optimize.enabled orc.column.encoding.direct orc.dictionary.key.threshold
orc.write.batch-size page-size read.batch-size scan.manifest.parallelism sort-engine
sort-spill-buffer-size sort-spill-threshold spill-compression spill-compression.zstd-level
write-buffer-spill.max-disk-size write-buffer-spillable write-manifest-cache
write-max-writers-to-spill write.batch-memory write.batch-size
"""
TUNING = frozenset(_TUNING.split())
PAIMON_OPTIONS = frozenset(_OPTIONS.split()) | TUNING

# The suffixes of `fields.<column>.…` in Paimon.
_FIELD_OPTIONS = """
aggregate-function count-limit default-value distinct ignore-retract list-agg-delimiter
map-storage-layout merge-map-delimiter nested-key nested-key-null-strategy nested-sequence-field
sequence-group stats-mode ts-field
"""
PAIMON_FIELD_OPTIONS = frozenset(_FIELD_OPTIONS.split())

# Options that decide which rows of which snapshot a reader sees.
_OTHER_ROWS = """
incremental-between incremental-between-timestamp incremental-to-auto-tag scan.bucket
scan.creation-time-millis scan.fallback-branch scan.fallback-delta-branch
scan.fallback-snapshot-branch scan.file-creation-time-millis scan.primary-branch scan.snapshot-id
scan.tag-name scan.timestamp scan.timestamp-millis scan.version scan.watermark
"""
OTHER_ROWS = frozenset(_OTHER_ROWS.split())
# Those of a reader that name one snapshot.
OPTIONS_OF_VERSIONS = (
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.timestamp-millis",
    "scan.timestamp",
    "scan.watermark",
    "scan.version",
)
# Options that we don't declare and that keep us from reading or writing tables that have them: the
# one value under which we can, None if there is not one.
_EITHER: dict[str, str | None] = {
    "pk-clustering-override": "false",
    "chain-table.enabled": "false",
    "branch": "main",
    "data-file.path-directory": None,
}
NEEDED_TO_READ = _EITHER | dict.fromkeys(sorted(OTHER_ROWS)) | {"query-auth.enabled": "false"}
NEEDED_TO_WRITE = _EITHER | {
    "data-file.external-paths": None,
    "file.format.per.level": None,
    "index-file-in-data-file-dir": "false",
    "metadata.iceberg.storage": None,
    "tag.creation-period-duration": None,
}
