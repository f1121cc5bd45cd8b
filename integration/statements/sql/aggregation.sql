-- aggregation: each column folds by its own function; compared with GROUP BY on plain Spark.
-- keyfold
CREATE TABLE t (k INT, total BIGINT, top INT, low DOUBLE, recent STRING, known STRING, opening STRING,
  earliest STRING, every BOOLEAN, some BOOLEAN, cash DECIMAL(12, 2), PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.total.aggregate-function' = 'sum',
  'fields.top.aggregate-function' = 'max', 'fields.low.aggregate-function' = 'min',
  'fields.recent.aggregate-function' = 'last_value',
  'fields.known.aggregate-function' = 'last_non_null_value',
  'fields.opening.aggregate-function' = 'first_value',
  'fields.earliest.aggregate-function' = 'first_non_null_value',
  'fields.every.aggregate-function' = 'bool_and', 'fields.some.aggregate-function' = 'bool_or',
  'fields.cash.aggregate-function' = 'sum');
CREATE OR REPLACE TEMPORARY VIEW source AS
SELECT CAST(id % 6 AS INT) AS k, id AS total, CAST((id * 7919) % 101 AS INT) AS top,
  CAST((id * 31) % 17 AS DOUBLE) AS low, IF(id % 5 = 0, NULL, concat('v', id)) AS word,
  id % 4 <> 1 AS flag, CAST(id / 8 AS DECIMAL(12, 2)) AS cash, id AS ord FROM range(60);
-- keyfold
INSERT INTO t SELECT k, total, top, low, word, word, word, word, flag, flag, cash FROM source WHERE ord < 20;
-- keyfold
INSERT INTO t SELECT k, total, top, low, word, word, word, word, flag, flag, cash FROM source WHERE ord >= 20 AND ord < 21;
-- keyfold
INSERT INTO t SELECT k, total, top, low, word, word, word, word, flag, flag, cash FROM source WHERE ord >= 21;
-- query
SELECT k, total, top, low, every, some, cash FROM t;
-- against
SELECT k, sum(total) AS total, max(top) AS top, min(low) AS low, bool_and(flag) AS every,
  bool_or(flag) AS some, CAST(sum(cash) AS DECIMAL(12, 2)) AS cash FROM source GROUP BY k;
-- query
SELECT k, recent, known, opening, earliest FROM t;
-- against
SELECT k, max_by(word, ord) AS recent, max_by(word, ord) FILTER (WHERE word IS NOT NULL) AS known,
  min_by(word, ord) AS opening, min_by(word, ord) FILTER (WHERE word IS NOT NULL) AS earliest
FROM source GROUP BY k;
-- query
SELECT sum(total) FROM t;
-- against
SELECT sum(total) FROM source;

-- A default for all columns, and retraction by row kind.
-- keyfold
CREATE TABLE r (k INT, a INT, b DOUBLE, c INT, op STRING, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'rowkind.field' = 'op',
  'fields.default-aggregate-function' = 'sum', 'fields.c.aggregate-function' = 'max',
  'fields.c.ignore-retract' = 'true', 'fields.op.aggregate-function' = 'last_value');
-- keyfold
INSERT INTO r VALUES (1, 5, 1.5, 3, '+I'), (1, 2, NULL, 9, '+I'), (2, 1, 1.0, 1, '+I');
-- keyfold
INSERT INTO r VALUES (1, 2, 0.5, 9, '-D'), (2, 1, 1.0, 1, '-U'), (2, 4, 4.0, 4, '+U');
-- query
SELECT k, a, b, c FROM r;
-- against
SELECT * FROM VALUES (1, 5, 1.0D, 9), (2, 4, 4.0D, 4) AS t(k, a, b, c);

-- An overflow is said, not stored, and other columns stay readable.
-- keyfold
CREATE TABLE o (k STRING, n TINYINT, v INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum',
  'fields.v.aggregate-function' = 'sum');
-- keyfold
INSERT INTO o VALUES ('fine', 1Y, 1), ('big', 100Y, 1);
-- keyfold
INSERT INTO o VALUES ('fine', 1Y, 1), ('big', 100Y, 1);
-- query
SELECT k, v FROM o;
-- against
SELECT * FROM VALUES ('fine', 2), ('big', 2) AS t(k, v);
-- error: column n | big | TINYINT | ALTER COLUMN n TYPE
SELECT n FROM o;

-- A retraction is asked for its nested keys as an addition is.
-- keyfold
CREATE TABLE strict (k INT, n ARRAY<STRUCT<a: INT, v: STRING>>, rk STRING, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'rowkind.field' = 'rk', 'fields.n.aggregate-function' = 'nested_update',
  'fields.n.nested-key' = 'a', 'fields.n.nested-key-null-strategy' = 'error');
-- keyfold
INSERT INTO strict VALUES (1, array(named_struct('a', 0, 'v', 'A')), '+I');
-- keyfold
INSERT INTO strict VALUES (1, array(named_struct('a', NULL, 'v', 'X')), '-U');
-- error: Nested key contains null values
SELECT k, n FROM strict;
