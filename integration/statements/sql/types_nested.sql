-- ARRAY, MAP and STRUCT as values, nested, with NULLs and empties at every depth.
CREATE TABLE t (
  id INT, a ARRAY<INT>, m MAP<STRING, BIGINT>, s STRUCT<x: INT, y: STRING>,
  aa ARRAY<ARRAY<STRING>>, sm STRUCT<m: MAP<INT, ARRAY<DECIMAL(10, 2)>>, d: DATE>,
  ms MAP<STRING, STRUCT<a: ARRAY<STRUCT<p: INT, q: TIMESTAMP_NTZ>>, b: BINARY>>,
  PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES
  (1, array(1, NULL, 3), map('a', 1L, 'b', NULL), named_struct('x', 1, 'y', 'why'),
   array(array('p', NULL), array(), NULL),
   named_struct('m', map(1, array(1.25, NULL), 2, NULL), 'd', DATE '2024-05-06'),
   map('k', named_struct('a', array(named_struct('p', 1, 'q', TIMESTAMP_NTZ '2024-01-01 00:00:01'),
                                    NULL), 'b', X'01'))),
  (2, array(), map(), named_struct('x', NULL, 'y', NULL), array(),
   named_struct('m', NULL, 'd', NULL), map('k', NULL)),
  (3, NULL, NULL, NULL, NULL, NULL, NULL);
-- query
SELECT * FROM t;
-- query
SELECT id, s.x, s.y, sm.d, sm.m[1][0], ms['k'].a[0].q, size(aa) FROM t;
-- query
SELECT id, explode_outer(a) AS element FROM t;
-- query
SELECT id FROM t WHERE s.x = 1 OR s IS NULL;

-- A nested value is replaced as a whole.
-- keyfold
INSERT INTO t VALUES (1, array(9), NULL, named_struct('x', NULL, 'y', 'z'), NULL, NULL, map());
-- query
SELECT id, a, m, s, aa, ms FROM t WHERE id = 1;
-- against
SELECT 1 AS id, array(9) AS a, CAST(NULL AS MAP<STRING, BIGINT>) AS m,
  named_struct('x', CAST(NULL AS INT), 'y', 'z') AS s, CAST(NULL AS ARRAY<ARRAY<STRING>>) AS aa,
  CAST(map() AS MAP<STRING, STRUCT<a: ARRAY<STRUCT<p: INT, q: TIMESTAMP_NTZ>>, b: BINARY>>) AS ms;

-- A NULL struct whose fields are NOT NULL, at any depth.
CREATE TABLE required (id INT, v STRUCT<a: INT NOT NULL, s: STRUCT<t: STRING NOT NULL> NOT NULL>,
  w ARRAY<STRUCT<d: DECIMAL(5, 2) NOT NULL, l: ARRAY<INT> NOT NULL>>,
  PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO required VALUES (1, NULL, NULL), (2, named_struct('a', 2, 's', named_struct('t', 'x')),
  array(named_struct('d', 1.5, 'l', array(1)), NULL)), (3, NULL, array(NULL)), (4, NULL, array());
-- query
SELECT * FROM required;
-- query
SELECT id, v.a, v.s.t FROM required WHERE v.a IS NULL;

-- A NULL struct has no value in its NOT NULL fields, whatever statement makes it.
-- keyfold
CREATE TABLE needed (k INT, v INT, s STRUCT<a: INT NOT NULL, r: STRUCT<b: STRING NOT NULL> NOT NULL>, l ARRAY<STRUCT<a: INT NOT NULL>>,
  PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine' = 'partial-update', 'bucket' = '1', 'changelog-producer' = 'lookup');
-- keyfold
INSERT INTO needed VALUES (1, 1, named_struct('a', 1, 'r', named_struct('b', 'x')), NULL), (2, 2, NULL, array(NULL, named_struct('a', 3)));
-- keyfold
INSERT INTO needed (k, v) VALUES (3, 3), (2, 20);
-- keyfold
UPDATE needed SET s = NULL WHERE k = 1;
-- keyfold
UPDATE needed SET k = k + 10, v = 4 WHERE k <= 2;
-- keyfold
MERGE INTO needed t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE;
-- keyfold
CALL keyfold.sys.compact(table => 'sql_types_nested.needed', compact_strategy => 'full');
-- query
SELECT * FROM needed;
-- against
SELECT 11 AS k, 4 AS v, CAST(NULL AS STRUCT<a: INT, r: STRUCT<b: STRING>>) AS s, CAST(NULL AS ARRAY<STRUCT<a: INT>>) AS l
UNION ALL SELECT 12, 4, NULL, array(NULL, named_struct('a', 3));
-- query any
SELECT count(*) AS n FROM `needed$binlog`;
-- against
SELECT 2L AS n;
-- error: null
UPDATE needed SET s = named_struct('a', CAST(NULL AS INT), 'r', named_struct('b', 'y'));
-- error: null
INSERT INTO needed (k, s) VALUES (9, named_struct('a', NULL, 'r', named_struct('b', 'y')));
-- keyfold
DELETE FROM needed WHERE k = 11;
-- query
SELECT k FROM needed;
-- against
SELECT 12 AS k;
