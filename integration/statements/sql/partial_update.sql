-- partial-update and first-row: compared with window-free GROUP BY on plain Spark.
CREATE OR REPLACE TEMPORARY VIEW source AS
SELECT CAST(id % 7 AS INT) AS k, IF(id % 3 = 0, NULL, concat('a', id)) AS a,
  IF(id % 4 = 0, NULL, id * 1.5) AS b, (id * 37) % 60 AS g, IF(id % 5 = 0, NULL, id) AS n,
  id AS ord FROM range(60);

-- keyfold
CREATE TABLE plain (k INT, a STRING, b DOUBLE, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'partial-update');
-- keyfold
INSERT INTO plain SELECT k, a, b FROM source WHERE ord < 25;
-- keyfold
INSERT INTO plain SELECT k, a, b FROM source WHERE ord >= 25;
-- query
SELECT k, a, b FROM plain;
-- against
SELECT k, max_by(a, ord) FILTER (WHERE a IS NOT NULL) AS a,
  CAST(max_by(b, ord) FILTER (WHERE b IS NOT NULL) AS DOUBLE) AS b FROM source GROUP BY k;

-- A group follows its own sequence, with NULLs; a sum in it takes records of any age.
-- keyfold
CREATE TABLE grouped (k INT, a STRING, n BIGINT, g BIGINT, b DOUBLE, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'partial-update', 'fields.G.sequence-group' = 'a,N',
  'fields.n.aggregate-function' = 'sum');
-- keyfold
INSERT INTO grouped SELECT k, a, n, g, b FROM source WHERE ord < 40;
-- keyfold
INSERT INTO grouped SELECT k, a, n, g, b FROM source WHERE ord >= 40;
-- query
SELECT k, a, n, g, b FROM grouped;
-- against
SELECT k, max_by(a, g) AS a, sum(n) AS n, max(g) AS g,
  CAST(max_by(b, ord) FILTER (WHERE b IS NOT NULL) AS DOUBLE) AS b FROM source GROUP BY k;
-- query
SELECT a FROM grouped WHERE k = 3;
-- against
SELECT max_by(a, g) AS a FROM source WHERE k = 3;

-- keyfold
CREATE TABLE firsts (k INT, a STRING, b DOUBLE, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('table.merge-engine' = 'first_row');
-- keyfold
INSERT INTO firsts SELECT k, a, b FROM source WHERE ord < 25;
-- keyfold
INSERT INTO firsts SELECT k, a, b FROM source WHERE ord >= 25;
-- query
SELECT k, a, b FROM firsts;
-- against
SELECT k, min_by(a, ord) AS a, CAST(min_by(b, ord) AS DOUBLE) AS b FROM source GROUP BY k;

-- keyfold
CREATE TABLE versions (k INT, a STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('table.merge-engine' = 'versioned', 'table.merge-engine.versioned.ver-column' = 'N');
-- keyfold
INSERT INTO versions SELECT k, a, n FROM source;
-- query
SELECT k, a, n FROM versions;
-- against
SELECT k, max_by(a, n) AS a, max(n) AS n FROM source GROUP BY k;

-- error: fields.g.sequence-group | Field nope can not be found in table schema
CREATE TABLE refused (k INT, g INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'nope');
-- error: Must use sequence group for aggregation functions but not found for field g
CREATE TABLE refused (k INT, g INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'partial-update', 'fields.g.aggregate-function' = 'sum');
-- error: Unsupported merge engine type: newest
CREATE TABLE refused (k INT, g INT, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('table.merge-engine' = 'newest');

-- An older record never takes over from last_value, ignored retractions or not.
-- keyfold
CREATE TABLE lasts (k INT, w STRING, g INT, rk STRING, PRIMARY KEY (k) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'partial-update', 'rowkind.field' = 'rk', 'fields.g.sequence-group' = 'w',
  'fields.w.aggregate-function' = 'last_value', 'fields.w.ignore-retract' = 'true');
-- keyfold
INSERT INTO lasts VALUES (1, 'o', NULL, '+I'), (1, 'd', 2, '-U'), (1, 'late', 1, '+I'),
  (2, 'first', 2, '+I'), (2, 'late', 1, '+I'), (2, 'd', 3, '-U');
-- query
SELECT k, w, g FROM lasts;
-- against
SELECT * FROM VALUES (1, NULL, 2), (2, 'first', 3) AS t(k, w, g);
