-- What is not supported is refused at CREATE in one sentence that names it.
-- error: key column v | VARIANT
CREATE TABLE t (id INT, v VARIANT, PRIMARY KEY (v) NOT ENFORCED);
-- error: sequence.field | v | VARIANT
CREATE TABLE t (id INT, v VARIANT, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('sequence.field' = 'v');
-- error: v | max | VARIANT
CREATE TABLE t (id INT, v VARIANT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'max');
SET spark.sql.timeType.enabled = true;
-- error: v | TIME(6) | milliseconds
CREATE TABLE t (id INT, v TIME, PRIMARY KEY (id) NOT ENFORCED);
-- error: v | INTERVAL | Paimon has none
CREATE TABLE t (id INT, v INTERVAL DAY TO SECOND, PRIMARY KEY (id) NOT ENFORCED);
-- error: v | INTERVAL
CREATE TABLE t (id INT, v INTERVAL YEAR TO MONTH, PRIMARY KEY (id) NOT ENFORCED);
-- error: v | collat
CREATE TABLE t (id INT, v STRING COLLATE UNICODE_CI, PRIMARY KEY (id) NOT ENFORCED);
-- error: v | INTERVAL
CREATE TABLE t (id INT, v ARRAY<STRUCT<deep: INTERVAL DAY>>, PRIMARY KEY (id) NOT ENFORCED);
-- error: k | ARRAY
CREATE TABLE t (k ARRAY<INT>, v INT, PRIMARY KEY (k) NOT ENFORCED);
-- error: k | STRUCT
CREATE TABLE t (k STRUCT<a: INT>, v INT, PRIMARY KEY (k) NOT ENFORCED);
-- error: k | MAP
CREATE TABLE t (k MAP<INT, INT>, v INT, PRIMARY KEY (k) NOT ENFORCED);

-- Options: unknown names get the nearest known one.
-- error: merge-engin | merge-engine
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engin' = 'deduplicate');
-- error: bukcet | bucket
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bukcet' = '2');
-- error: fields.v.aggregate-funtion | aggregate-function
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-funtion' = 'sum');
-- error: fields.nope.aggregate-function | Field nope can not be found
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.nope.aggregate-function' = 'sum');
-- Marked rows need a changelog that is looked up, if there is one, and an engine that replaces rows.
-- error: deletion-vectors.enabled | changelog-producer = none or input or lookup
CREATE TABLE t (id INT, PRIMARY KEY (id))
TBLPROPERTIES ('deletion-vectors.enabled' = 'true', 'changelog-producer' = 'full-compaction');
-- error: deletion-vectors.enabled | First row merge engine does not need deletion vectors
CREATE TABLE t (id INT, PRIMARY KEY (id))
TBLPROPERTIES ('deletion-vectors.enabled' = 'true', 'merge-engine' = 'first-row');
-- Known to Paimon, not supported here.
-- error: changelog-producer.compaction-interval
CREATE TABLE t (id INT, PRIMARY KEY (id))
TBLPROPERTIES ('changelog-producer.compaction-interval' = '1 h');
-- error: file.format | orc
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('file.format' = 'orc');
-- error: bucket | -3
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket' = '-3');
-- error: bucket | 0
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket' = '0');
-- error: bucket | many
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket' = 'many');
-- What belongs to a user is left alone.
-- keyfold
CREATE TABLE tagged (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('keyfold.tag.owner' = 'me');
-- holds: me
SHOW TBLPROPERTIES tagged ('keyfold.tag.owner');

-- Engines and aggregates.
-- error: merge-engine | nothing
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine' = 'nothing');
-- error: v | summ | sum
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'summ');
-- error: v | sum | STRING
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum');
-- error: v | bool_and
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'bool_and');
-- error: v | max | ARRAY
CREATE TABLE t (id INT, v ARRAY<INT>, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'max');
-- error: sequence.field | nope
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('sequence.field' = 'nope');
-- error: rowkind.field | kind
CREATE TABLE t (id INT, kind INT, PRIMARY KEY (id)) TBLPROPERTIES ('rowkind.field' = 'kind');

-- Keys.
-- error: primary
CREATE TABLE t (id INT, v INT);
-- error: nope
CREATE TABLE t (id INT, PRIMARY KEY (nope));
-- error: nope
CREATE TABLE t (id INT) TBLPROPERTIES ('primary-key' = 'nope');
-- error: id
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('primary-key' = 'v');
-- error: primary key (id) lacks partition column p | option bucket is '4'
CREATE TABLE t (id INT, p STRING, PRIMARY KEY (id)) PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '4');
-- error: partition
CREATE TABLE t (id INT, d DATE, PRIMARY KEY (id, d)) PARTITIONED BY (years(d));
-- error: check
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id), CONSTRAINT positive CHECK (v > 0));
-- error: foreign
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id), FOREIGN KEY (v) REFERENCES other (id));
-- error: unique
CREATE TABLE t (id INT, v INT, PRIMARY KEY (id), UNIQUE (v));
-- error: _VALUE_KIND
CREATE TABLE t (id INT, _VALUE_KIND INT, PRIMARY KEY (id));
-- error: declared USING orc | tables of Parquet files
CREATE TABLE t (id INT, PRIMARY KEY (id)) USING orc;

-- Clauses that would say where and how rows are kept.
-- error: EXTERNAL is not supported: DROP deletes a table's files
CREATE EXTERNAL TABLE t (id INT, PRIMARY KEY (id)) LOCATION '/elsewhere';
-- error: LOCATION | elsewhere is not supported | below its warehouse
CREATE TABLE t (id INT, PRIMARY KEY (id)) LOCATION '/elsewhere';
-- error: LOCATION | elsewhere is not supported
CREATE TABLE t (id INT, PRIMARY KEY (id)) USING keyfold OPTIONS (path '/elsewhere');
-- error: CLUSTERED BY is not supported | TBLPROPERTIES ('bucket' = …)
CREATE TABLE t (id INT, PRIMARY KEY (id)) CLUSTERED BY (id) INTO 4 BUCKETS;
-- error: CLUSTERED BY is not supported
CREATE TABLE t (id INT, PRIMARY KEY (id)) CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS;
-- error: CLUSTER BY is not supported | in the order of their key
CREATE TABLE t (id INT, PRIMARY KEY (id)) CLUSTER BY (id);
-- error: CLUSTERED BY is not supported
CREATE TABLE t (id INT, PRIMARY KEY (id)) PARTITIONED BY (bucket(4, id));
-- error: partitioned by truncate(2, s); PARTITIONED BY takes columns only
CREATE TABLE t (s STRING, v INT, PRIMARY KEY (s)) PARTITIONED BY (truncate(2, s));
-- error: ROW FORMAT and STORED AS | are not supported: rows are kept in Parquet files
CREATE TABLE t (id INT, PRIMARY KEY (id)) STORED AS PARQUET;
-- error: ROW FORMAT and STORED AS | are not supported
CREATE TABLE t (id INT, PRIMARY KEY (id)) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',';

-- Constraints on a column, and what computes its values.
-- error: UNIQUE (v) | PRIMARY KEY is the only table constraint
CREATE TABLE t (id INT, v INT UNIQUE, PRIMARY KEY (id));
-- error: CHECK (v > 0) | PRIMARY KEY is the only table constraint
CREATE TABLE t (id INT, v INT CHECK (v > 0), PRIMARY KEY (id));
-- error: FOREIGN KEY (v) REFERENCES other | PRIMARY KEY is the only table constraint
CREATE TABLE t (id INT, v INT REFERENCES other (id), PRIMARY KEY (id));
-- error: does not support generated columns
CREATE TABLE t (id INT, v INT GENERATED ALWAYS AS (id + 1), PRIMARY KEY (id));
-- error: does not support identity column
CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (id));

-- error: BUCKET | did you mean bucket?
CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('BUCKET' = '2');
-- error: STRUCT without fields
CREATE TABLE t (id INT, v STRUCT<>, PRIMARY KEY (id));
-- error: keyfold.t needs a namespace: keyfold.default.t
CREATE TABLE keyfold.t (id INT, PRIMARY KEY (id));
-- error: without a name
CREATE TABLE t (id INT, `` INT, PRIMARY KEY (id));

-- Nothing of all this left a table.
-- error: t
SELECT * FROM t;

-- States that never were.
-- keyfold
CREATE TABLE here (id INT, v INT, PRIMARY KEY (id));
-- keyfold
INSERT INTO here VALUES (1, 1);
-- error: snapshot 2 of table keyfold.sql_refusals.here does not exist
SELECT * FROM here VERSION AS OF 2;
-- error: keyfold.sql_refusals.here
SELECT * FROM here TIMESTAMP AS OF '2020-01-01';
