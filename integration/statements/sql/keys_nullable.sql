-- primary-key.nullable: NULL is one more value of a key column; it is neither '' nor 0.
CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('primary-key.nullable' = 'true');
-- keyfold
INSERT INTO t VALUES (NULL, 'a'), (1, 'x'), (0, 'zero');
-- keyfold
INSERT INTO t VALUES (NULL, 'b');
-- spark
INSERT INTO t VALUES (NULL, 'b'), (1, 'x'), (0, 'zero');
-- query
SELECT * FROM t;
-- query
SELECT v FROM t WHERE k IS NULL;
-- query
SELECT v FROM t WHERE k IS NOT NULL;
-- query any
SELECT v FROM t WHERE k = NULL;
-- query
SELECT v FROM t WHERE k <=> NULL;
-- query
SELECT v FROM t WHERE k IN (NULL, 1);
-- query any
SELECT v FROM t WHERE k NOT IN (NULL, 1);
-- query
SELECT v FROM t WHERE k < 1;
-- query ordered
SELECT * FROM t ORDER BY k;

-- Every type, in keys of several columns, in many buckets.
CREATE TABLE wide (a BOOLEAN, b BIGINT, c DOUBLE, d DECIMAL(38, 2), e STRING, f BINARY, g DATE,
  h TIMESTAMP, i TIMESTAMP_NTZ, j DECIMAL(10, 2), v INT, PRIMARY KEY (e, a, b, c, d, f, g, h, i, j) NOT ENFORCED)
TBLPROPERTIES ('primary-key.nullable' = 'true', 'bucket' = '7');
INSERT INTO wide
SELECT IF(id % 2 = 0, NULL, id % 3 = 0), IF(id % 3 = 0, NULL, id), IF(id % 5 = 0, NULL, id / 4),
  IF(id % 7 = 0, NULL, CAST(id * 10000000000 AS DECIMAL(38, 2))), IF(id % 4 = 0, NULL, repeat('x', id % 12)),
  IF(id % 6 = 0, NULL, encode(repeat('y', id % 10), 'utf-8')), IF(id % 8 = 0, NULL, date_add(DATE '2024-01-01', id)),
  IF(id % 9 = 0, NULL, timestamp_micros(id * 1000001)), IF(id % 10 = 0, NULL, CAST(timestamp_micros(id) AS TIMESTAMP_NTZ)),
  IF(id % 11 = 0, NULL, CAST(id AS DECIMAL(10, 2))), id
FROM (SELECT CAST(id AS INT) AS id FROM range(1, 500, 1, 3));
-- keyfold
INSERT INTO wide SELECT a, b, c, d, e, f, g, h, i, j, v + 1000 FROM wide WHERE v % 2 = 0;
-- query
SELECT a, b, c, d, e, hex(f), g, h, i, j, v FROM wide;
-- against
SELECT a, b, c, d, e, hex(f), g, h, i, j, IF(v % 2 = 0, v + 1000, v) AS v FROM wide;
-- query
SELECT v % 1000 AS v FROM wide WHERE e IS NULL AND a IS NULL AND b IS NULL;
-- query
SELECT v % 1000 AS v FROM wide WHERE d IS NULL AND e <=> 'xxxxxxx';

-- A key of NULLs alone, partitions of NULL, aggregates by NULL.
CREATE TABLE parts (k STRING, n BIGINT, p STRING, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)
TBLPROPERTIES ('primary-key.nullable' = 'true', 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum');
-- keyfold
INSERT INTO parts VALUES (NULL, 1, NULL), ('', 2, NULL), (NULL, 4, 'a');
-- keyfold
INSERT INTO parts VALUES (NULL, 8, NULL), (NULL, 16, 'a'), ('', 32, 'a'), (NULL, 64, NULL);
-- spark
INSERT INTO parts VALUES (NULL, 73, NULL), ('', 2, NULL), (NULL, 20, 'a'), ('', 32, 'a');
-- query
SELECT * FROM parts;
-- query
SELECT n FROM parts WHERE p IS NULL AND k IS NULL;
-- query
SELECT k, n FROM parts WHERE p IS NULL;
-- query
SELECT x.n + y.n AS n FROM parts x JOIN parts y ON x.p <=> y.p AND x.k <=> y.k;

-- CREATE AS keeps what the query says may be NULL.
-- keyfold
CREATE TABLE copied TBLPROPERTIES ('primary-key' = 'k', 'primary-key.nullable' = 'true') AS SELECT k, v FROM t;
-- spark
CREATE TABLE copied AS SELECT k, v FROM t;
-- query
SELECT * FROM copied;

-- Without the option nothing changes.
CREATE TABLE strict (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED);
-- error: k | null
INSERT INTO strict VALUES (CAST(NULL AS INT), 'a');
-- error: primary-key.nullable | can't be changed
ALTER TABLE t SET TBLPROPERTIES ('primary-key.nullable' = 'false');

-- Statements that change rows: NULL is a key like any other.
CREATE TABLE changed (a INT, b STRING, v INT, PRIMARY KEY (a, b) NOT ENFORCED)
TBLPROPERTIES ('primary-key.nullable' = 'true', 'bucket' = '2');
-- keyfold
INSERT INTO changed VALUES (NULL, NULL, 1), (NULL, 'x', 2), (1, NULL, 3), (1, 'x', 4), (2, 'y', 5);
-- keyfold
UPDATE changed SET v = v * 10 WHERE a IS NULL OR v = 4;
-- keyfold
DELETE FROM changed WHERE b IS NULL AND v = 3;
-- query
SELECT a, b, v FROM changed;
-- against
SELECT * FROM VALUES (NULL, NULL, 10), (NULL, 'x', 20), (1, 'x', 40), (2, 'y', 5) AS t(a, b, v);
-- Rows move to NULL and away from it.
-- keyfold
UPDATE changed SET a = CASE WHEN a IS NULL THEN 7 END, b = nullif(b, 'x') WHERE b <=> NULL OR b = 'x' AND a = 1;
-- query
SELECT a, b, v FROM changed;
-- against
SELECT * FROM VALUES (7, NULL, 10), (NULL, 'x', 20), (NULL, NULL, 40), (2, 'y', 5) AS t(a, b, v);
-- `=` meets no NULL, `<=>` does.
-- keyfold
MERGE INTO changed t USING (SELECT * FROM VALUES (NULL, NULL, 0), (2, 'y', 0) AS s(a, b, v)) AS s
ON t.a = s.a AND t.b = s.b WHEN MATCHED THEN DELETE;
-- keyfold
MERGE INTO changed t USING (SELECT * FROM VALUES (NULL, NULL, 6), (NULL, 'x', -1), (7, NULL, -2), (8, NULL, 9) AS s(a, b, v)) AS s
ON t.a <=> s.a AND t.b <=> s.b WHEN MATCHED AND s.v = -1 THEN DELETE WHEN MATCHED AND s.v = -2 THEN UPDATE SET a = NULL, b = 'moved'
WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *;
-- query
SELECT a, b, v FROM changed;
-- against
SELECT * FROM VALUES (NULL, NULL, 46), (NULL, 'moved', 10), (8, NULL, 9) AS t(a, b, v);
-- keyfold
MERGE INTO changed t USING (SELECT 46 AS v) AS s ON t.v = s.v WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED BY SOURCE AND t.a = 8 THEN DELETE;
-- keyfold
DELETE FROM changed WHERE (a, b) IN (SELECT 8, NULL) OR b = 'moved';
-- query
SELECT a, b, v FROM changed;
-- against
SELECT * FROM VALUES (NULL, NULL, 0) AS t(a, b, v);
-- keyfold
CREATE TABLE moved (p STRING, k INT, s INT, v INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)
TBLPROPERTIES ('primary-key.nullable' = 'true', 'sequence.field' = 's');
-- keyfold
INSERT INTO moved VALUES (NULL, NULL, 5, 1), (NULL, 1, 5, 2), ('x', NULL, 5, 3);
-- keyfold
UPDATE moved SET v = 9 WHERE k IS NULL AND p IS NULL;
-- keyfold
DELETE FROM moved WHERE v IN (2, 3);
-- query
SELECT p, k, s, v FROM moved;
-- against
SELECT * FROM VALUES (NULL, NULL, 5, 9) AS t(p, k, s, v);
-- keyfold
CREATE TABLE hidden (k INT, _bucket INT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('primary-key.nullable' = 'true');
-- keyfold
INSERT INTO hidden VALUES (NULL, 1);
-- error: rename _bucket
UPDATE hidden SET _bucket = 2;

-- Files without key copies, beside files with them.
CREATE TABLE thin (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO thin VALUES (1, 'a'), (2, 'b');
-- keyfold
ALTER TABLE thin SET TBLPROPERTIES ('data-file.thin-mode' = 'true');
-- keyfold
INSERT INTO thin VALUES (2, 'c'), (3, 'd');
-- query
SELECT * FROM thin WHERE k > 0;
-- against
SELECT k, IF(k = 2, 'c', v) AS v FROM thin UNION ALL SELECT 3, 'd';

-- The later snapshot wins.
-- error: mutually exclusive with sequence.field
CREATE TABLE bad (k INT, s INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('sequence.snapshot-ordering' = 'true', 'write-only' = 'true', 'sequence.field' = 's');
-- error: requires write-only = true
CREATE TABLE bad (k INT, s INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('sequence.snapshot-ordering' = 'true');
CREATE TABLE later (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('sequence.snapshot-ordering' = 'true', 'write-only' = 'true');
INSERT INTO later VALUES (1, 'a'), (2, 'x');
-- keyfold
INSERT INTO later VALUES (1, 'b');
-- query
SELECT * FROM later;
-- against
SELECT k, IF(k = 1, 'b', v) AS v FROM later;
