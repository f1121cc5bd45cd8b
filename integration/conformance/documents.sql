-- Statements in the forms in which the documents of Fluss, Paimon, Flink Table Store and Doris print them, with names and
-- values of our own, for documents.py, which says what the comments in them mean.

-- block: fluss_aggregation_text_times
CREATE TABLE shop_stats (item BIGINT, cost DOUBLE, sold BIGINT, seen TIMESTAMP(3), PRIMARY KEY (item) NOT ENFORCED)
WITH ('table.merge-engine' = 'aggregation', 'fields.cost.agg' = 'max', 'fields.sold.agg' = 'sum');
INSERT INTO shop_stats VALUES (7, 11.5, 4, TIMESTAMP '2025-03-01 08:00:00'), (7, 12.25, 6, TIMESTAMP '2025-03-01 09:30:00');
SELECT * FROM shop_stats;
-- rows: (7, 12.25, 10, 2025-03-01 09:30:00)

-- block: fluss_listagg_char
CREATE TABLE marks (id BIGINT, m CHAR(3), n STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('table.merge-engine' = 'aggregation', 'fields.m.agg' = 'listagg', 'fields.n.agg' = 'string_agg', 'fields.n.delimiter' = ';');
-- refused: list agg column must be STRING

-- block: fluss_auto_increment
CREATE TABLE uids (name STRING, uid BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH ('auto-increment.fields' = 'uid', 'bucket.num' = '2');
-- refused: auto-increment.fields
INSERT INTO uids (name) VALUES ('ann'), ('bob'), ('cid');
INSERT INTO uids (name) VALUES ('ann'), ('dee');
SELECT count(*), count(DISTINCT uid), min(uid) >= 1 FROM uids;
-- rows: (4, 4, true)

-- block: fluss_auto_partition
CREATE TABLE daily (ds STRING, id BIGINT, n INT, PRIMARY KEY (ds, id) NOT ENFORCED) PARTITIONED BY (ds)
WITH ('bucket.num' = '2', 'table.auto-partition.enabled' = 'true', 'table.auto-partition.time-unit' = 'day', 'table.auto-partition.num-retention' = '2');
INSERT INTO daily VALUES ('20200101', 1, 1);
-- refused: 20200101

-- block: store_changelog_lookup_options
CREATE TABLE looked (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)
WITH ('changelog-producer' = 'lookup', 'lookup.cache-file-retention' = '1 h', 'lookup.cache-max-disk-size' = '1 gb', 'lookup.cache-max-memory-size' = '256 mb');
INSERT INTO looked VALUES (1, 1); INSERT INTO looked VALUES (1, 2);
SELECT * FROM looked;
-- rows: (1, 2)
-- note: options that tune another system's cache don't stop the table from being made

-- block: store_sequence_field_forms
CREATE TABLE seqs (pk BIGINT, v1 DOUBLE, v2 BIGINT, dt TIMESTAMP(3), PRIMARY KEY (pk) NOT ENFORCED) WITH ('sequence.field' = 'dt');
INSERT INTO seqs VALUES (1, 1.0, 10, TIMESTAMP '2025-01-02 00:00:00'), (1, 2.0, 20, TIMESTAMP '2025-01-01 00:00:00');
SELECT v2 FROM seqs;
-- rows: (10)

-- block: paimon_sequence_group
CREATE TABLE grouped (k INT, a INT, b INT, g_1 INT, c INT, d INT, g_2 INT, PRIMARY KEY (k) NOT ENFORCED)
WITH ('merge-engine' = 'partial-update', 'fields.g_1.sequence-group' = 'a,b', 'fields.g_2.sequence-group' = 'c,d');
INSERT INTO grouped VALUES (5, 1, 1, 1, 1, 1, 1);
INSERT INTO grouped VALUES (5, 2, 2, 2, 2, 2, CAST(NULL AS INT));
INSERT INTO grouped VALUES (5, 3, 3, 1, 3, 3, 3);
SELECT * FROM grouped;
-- rows: (5, 2, 2, 2, 3, 3, 3)

-- block: paimon_max_min_time
CREATE TABLE times (k INT, first_seen TIME, last_seen TIME, PRIMARY KEY (k) NOT ENFORCED)
WITH ('merge-engine' = 'aggregation', 'fields.first_seen.aggregate-function' = 'min', 'fields.last_seen.aggregate-function' = 'max');
INSERT INTO times VALUES (1, TIME '10:00:00', TIME '10:00:00'), (1, TIME '09:00:00', TIME '12:30:00');
SELECT * FROM times;
-- rows: (1, 09:00:00, 12:30:00)

-- block: doris_agg_state
SET enable_agg_state = true;
CREATE TABLE states (k1 INT NULL, v1 INT SUM, v2 agg_state<group_concat(string)> generic) AGGREGATE KEY(k1) DISTRIBUTED BY HASH(k1) BUCKETS 3;
INSERT INTO states VALUES (1, 1, group_concat_state('p')); INSERT INTO states VALUES (1, 2, group_concat_state('q')); INSERT INTO states VALUES (2, 4, group_concat_state('r'));
SELECT length(group_concat_merge(v2)) FROM states;
-- rows: (5)
INSERT INTO states SELECT 3, sum(v1), group_concat_union(v2) FROM states;
SELECT k1, v1 FROM states;
-- rows: (1, 3), (2, 4), (3, 7)
