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
INSERT INTO marks VALUES (1, 'a', 'x'); INSERT INTO marks VALUES (1, 'bcd', 'y');
SELECT * FROM marks;
-- rows: (1, 'a  ,bcd', 'x;y')

-- block: fluss_auto_increment
CREATE TABLE uids (name STRING, uid BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH ('auto-increment.fields' = 'uid', 'bucket.num' = '2');
INSERT INTO uids (name) VALUES ('ann'), ('bob'), ('cid');
INSERT INTO uids (name) VALUES ('ann'), ('dee');
SELECT count(*), count(DISTINCT uid), min(uid) >= 1 FROM uids;
-- rows: (4, 4, true)

-- block: fluss_dictionary_to_bitmap
CREATE TABLE distinct_days (day STRING, users BYTES, PRIMARY KEY (day) NOT ENFORCED)
WITH ('table.merge-engine' = 'aggregation', 'fields.users.agg' = 'rbm64');
CREATE TABLE visits_log (day STRING, n INT, name STRING, PRIMARY KEY (day, n) NOT ENFORCED) WITH ('bucket.num' = '1');
INSERT INTO visits_log VALUES ('d1', 1, 'ann'), ('d1', 2, 'bob'), ('d1', 3, 'ann'), ('d2', 1, 'dee'), ('d2', 2, 'eve'), ('d2', 3, 'eve');
INSERT INTO distinct_days SELECT day, rb_build_agg(uid) FROM visits_log JOIN uids USING (name) WHERE day = 'd1' GROUP BY day;
INSERT INTO distinct_days SELECT /*+ LOOKUP(u) */ day, rb_build_agg(uid)
FROM visits_log LEFT JOIN uids WITH ('lookup.insert-if-not-exists' = 'true') AS u USING (name) GROUP BY day;
SELECT day, rb_cardinality(users) FROM distinct_days;
-- rows: ('d1', 2), ('d2', 2)
SELECT day, count(DISTINCT name) FROM visits_log GROUP BY day;
-- rows: ('d1', 2), ('d2', 2)
SELECT count(*), count(DISTINCT uid) FROM uids;
-- rows: (5, 5)

-- block: fluss_partial_columns_without_engine
CREATE TABLE parts (k INT, v1 DOUBLE, v2 STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '2');
INSERT INTO parts (k, v1) VALUES (1, 2.5);
INSERT INTO parts (k, v2) VALUES (1, 'x');
SELECT * FROM parts;
-- rows: (1, 2.5, 'x')

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

-- block: fluss_first_value_text_dates
CREATE TABLE first_buy (id BIGINT, bought DATE, what STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('table.merge-engine' = 'aggregation', 'fields.bought.agg' = 'first_value', 'fields.what.agg' = 'first_value');
INSERT INTO first_buy VALUES (3, '2025-01-05', 'rope'), (3, '2025-02-05', 'nail');
SELECT * FROM first_buy;
-- rows: (3, 2025-01-05, 'rope')

-- block: fluss_first_non_null_text_timestamps
CREATE TABLE first_mail (id BIGINT, mail STRING, proven TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED)
WITH ('table.merge-engine' = 'aggregation', 'fields.mail.agg' = 'first_value_ignore_nulls', 'fields.proven.agg' = 'first_value_ignore_nulls');
INSERT INTO first_mail VALUES (1, null, null), (1, 'a@b.example', '2025-01-01 10:00:00'), (1, 'c@d.example', '2025-01-02 10:00:00');
SELECT * FROM first_mail;
-- rows: (1, 'a@b.example', 2025-01-01 10:00:00)

-- block: paimon_nested_update_widen
CREATE TABLE wide_orders (order_id BIGINT PRIMARY KEY NOT ENFORCED, who STRING, place STRING,
  items ARRAY<ROW<item_id BIGINT, product STRING, price BIGINT>>)
WITH ('merge-engine' = 'aggregation', 'fields.items.aggregate-function' = 'nested_update', 'fields.items.nested-key' = 'item_id');
CREATE TABLE heads (order_id BIGINT PRIMARY KEY NOT ENFORCED, who STRING, place STRING);
CREATE TABLE lines (order_id BIGINT, item_id INT, product STRING, price BIGINT, PRIMARY KEY (order_id, item_id) NOT ENFORCED);
INSERT INTO heads VALUES (1, 'ann', 'here'); INSERT INTO lines VALUES (1, 1, 'rope', 5), (1, 2, 'nail', 2);
INSERT INTO wide_orders
SELECT order_id, who, place, CAST (NULL AS ARRAY<ROW<item_id BIGINT, product STRING, price BIGINT>>) FROM heads
UNION ALL
SELECT order_id, CAST (NULL AS STRING), CAST (NULL AS STRING), ARRAY[ROW(item_id, product, price)] FROM lines;
SELECT order_id, who, place, item_id, product, price FROM wide_orders, UNNEST(items) AS so(item_id, product, price);
-- rows: (1, 'ann', 'here', 1, 'rope', 5), (1, 'ann', 'here', 2, 'nail', 2)

-- block: doris_aggregate_key
CREATE TABLE IF NOT EXISTS visits (
  who LARGEINT NOT NULL, day DATE NOT NULL, city VARCHAR(20),
  last_at DATETIME REPLACE DEFAULT "1970-01-01 00:00:00", paid BIGINT SUM DEFAULT "0", longest INT MAX DEFAULT "0")
AGGREGATE KEY(who, day, city) DISTRIBUTED BY HASH(who) BUCKETS 10;
INSERT INTO visits VALUES (11, '2025-11-01', 'OS', '2025-10-29', 10, 20), (12, '2025-10-30', 'OS', '2025-10-29', 20, 20);
INSERT INTO visits VALUES (11, '2025-11-01', 'OS', '2025-10-30', 20, 10);
SELECT * FROM visits;
-- rows: (11, 2025-11-01, 'OS', 2025-10-30 00:00:00, 30, 20), (12, 2025-10-30, 'OS', 2025-10-29 00:00:00, 20, 20)

-- block: flink_settings_and_values
SET 'execution.runtime-mode' = 'batch';
CREATE TABLE tagged (k INT, tags ARRAY<STRING>, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO tagged VALUES (1, ARRAY['a', 'b']), (2, ARRAY['c', 'd']);
SELECT k, tag FROM tagged CROSS JOIN UNNEST(tags) AS t(tag) WHERE k = 1;
-- rows: (1, 'a'), (1, 'b')
SELECT ROW(k, 'x') FROM tagged WHERE k = 2;
-- rows: ((2, 'x'))
SELECT MAP['a', k]['a'], CAST(k AS VARCHAR) FROM tagged WHERE k = 2;
-- rows: (2, '2')
DROP TABLE IF EXISTS tagged;
DROP TABLE IF EXISTS tagged;

-- block: paimon_alter_table
CREATE TABLE altered (k INT, price DOUBLE, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO altered VALUES (1, 2.5);
ALTER TABLE altered SET ('write-only' = 'true');
ALTER TABLE altered ADD (unit STRING COMMENT 'of the price', size INT FIRST);
ALTER TABLE altered RENAME size TO width;
ALTER TABLE altered MODIFY width BIGINT COMMENT 'in mm' AFTER k;
ALTER TABLE altered RESET ('write-only');
INSERT INTO altered VALUES (2, 7, 3.5, 'box');
SELECT * FROM altered /*+ OPTIONS('scan.snapshot-id' = '1') */;
-- rows: (1, 2.5)
SELECT * FROM altered;
-- rows: (1, null, 2.5, null), (2, 7, 3.5, 'box')
ALTER TABLE altered DROP unit;
SELECT * FROM altered WHERE k = 2;
-- rows: (2, 7, 3.5)

-- block: text_for_dates
CREATE TABLE dated (k INT, d DATE, t TIMESTAMP, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO dated (t, k) VALUES ('2025-01-05 10:00:00', 1);
SELECT k, d, t FROM dated;
-- rows: (1, null, 2025-01-05 10:00:00)
INSERT INTO dated VALUES (1, '2025-01-05', DEFAULT), (2, '2025-02-05', current_timestamp());
SELECT k, d FROM dated;
-- rows: (1, 2025-01-05), (2, 2025-02-05)

-- block: text_that_is_malformed
CREATE TABLE misdated (k INT, d DATE, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO misdated VALUES (1, 'tomorrow or so');
-- refused: 'tomorrow or so'

-- block: text_of_a_query
CREATE TABLE untimed (k INT, d DATE, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO untimed SELECT 1, '2025-01-05';
-- refused: CANNOT_SAFELY_CAST
