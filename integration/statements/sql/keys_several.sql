-- Keys of several columns, declared in another order than the columns, and between values.
CREATE TABLE t (v STRING, b STRING, w DOUBLE, a INT, c DATE, PRIMARY KEY (a, b) NOT ENFORCED);
INSERT INTO t VALUES ('v1', 'x', 1.0, 1, DATE '2024-01-01'), ('v2', 'y', 2.0, 1, NULL),
  ('v3', 'x', 3.0, 2, NULL), ('v4', '', 4.0, 2, NULL), ('v5', 'xx', 5.0, -1, NULL);
-- query
SELECT * FROM t;
-- query
SELECT v FROM t WHERE a = 1 AND b = 'y';
-- query
SELECT v FROM t WHERE a IN (1, 2) AND b > 'x' ORDER BY v;
-- keyfold
INSERT INTO t VALUES ('new', 'x', 10.0, 1, NULL), ('old', 'x', 0.0, 3, NULL);
-- query
SELECT * FROM t;
-- against
SELECT * FROM t WHERE v <> 'v1'
UNION ALL SELECT 'new', 'x', 10.0, 1, NULL UNION ALL SELECT 'old', 'x', 0.0, 3, NULL;

CREATE TABLE mixed (z BIGINT, y BINARY, x TIMESTAMP, w DECIMAL(20, 3), v INT, u BOOLEAN,
  PRIMARY KEY (y, u, z, x, w) NOT ENFORCED);
INSERT INTO mixed VALUES
  (1, X'01', TIMESTAMP '2024-01-01 00:00:00', 1.5, 1, true),
  (1, X'01', TIMESTAMP '2024-01-01 00:00:00', 1.5, 2, false),
  (1, X'0100', TIMESTAMP '2024-01-01 00:00:00', 1.5, 3, true),
  (-1, X'01', TIMESTAMP '2024-01-01 00:00:00', 1.5, 4, true),
  (1, X'01', TIMESTAMP '2023-01-01 00:00:00', -1.5, 5, true);
-- query
SELECT z, hex(y), x, w, v, u FROM mixed;
-- keyfold
INSERT INTO mixed SELECT z, y, x, w, v + 100, u FROM mixed WHERE u;
-- query
SELECT v FROM mixed;
-- against
SELECT IF(u, v + 100, v) AS v FROM mixed;
-- query
SELECT v % 100 AS v FROM mixed WHERE y = X'01' AND u AND z = 1;

-- All columns may be the key.
CREATE TABLE only_key (a STRING, b INT, PRIMARY KEY (b, a) NOT ENFORCED);
INSERT INTO only_key VALUES ('p', 1), ('q', 1), ('p', 2);
-- keyfold
INSERT INTO only_key VALUES ('p', 1);
-- query
SELECT a, b FROM only_key;
