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
