-- UPDATE of every kind of column, and of the key; plain Spark says what must come out.
-- keyfold
CREATE TABLE t (p INT, id INT, name CHAR(3), place STRUCT<x: INT, y: STRING>, tags ARRAY<INT>, n BIGINT NOT NULL, d INT DEFAULT 4,
  PRIMARY KEY (p, id)) PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2');
-- keyfold
INSERT INTO t VALUES (1, 1, 'a', named_struct('x', 1, 'y', 'one'), array(1), 1, 1), (1, 2, 'b', NULL, NULL, 2, 2), (2, 1, 'c', NULL, array(), 3, 3);
-- keyfold
UPDATE t SET place.x = 9, tags = array(7, NULL), name = 'zz', d = DEFAULT WHERE name = 'a';
-- query
SELECT p, id, name, place.x, place.y, tags, n, d FROM t;
-- against
SELECT * FROM VALUES (1, 1, 'zz ', 9, 'one', array(7, NULL), 1L, 4), (1, 2, 'b  ', NULL, NULL, NULL, 2L, 2), (2, 1, 'c  ', NULL, NULL, array(), 3L, 3)
  AS t(p, id, name, x, y, tags, n, d);
-- error: n | NOT NULL
UPDATE t SET n = CASE WHEN id = 1 THEN NULL ELSE 1L END;
-- error: length limitation: 3
UPDATE t SET name = 'four';
-- The row moves to another partition and key; a chain moves each row once.
-- keyfold
UPDATE t SET id = id + 1, p = 2 WHERE p = 1;
-- query
SELECT p, id, n FROM t;
-- against
SELECT * FROM VALUES (2, 2, 1L), (2, 3, 2L), (2, 1, 3L) AS t(p, id, n);
-- keyfold
UPDATE t SET id = id + 1, n = n * 10;
-- query
SELECT p, id, n FROM t;
-- against
SELECT * FROM VALUES (2, 3, 10L), (2, 4, 20L), (2, 2, 30L) AS t(p, id, n);
-- error: key (id = 1) 3 times
UPDATE t SET id = 1;
-- keyfold
UPDATE t AS x SET n = (SELECT max(n) FROM t) WHERE EXISTS (SELECT * FROM t AS y WHERE y.n > x.n);
-- query
SELECT id, n FROM t;
-- against
SELECT * FROM VALUES (3, 30L), (4, 30L), (2, 30L) AS t(id, n);
-- keyfold
DELETE FROM t WHERE name LIKE 'z%';
-- keyfold
DELETE FROM t WHERE p = 3;
-- query
SELECT id, name FROM t;
-- against
SELECT * FROM VALUES (4, 'b  '), (2, 'c  ') AS t(id, name);
-- keyfold
DELETE FROM t WHERE p = 2;
-- query
SELECT id FROM t;
-- against
SELECT 1 AS id WHERE false;
-- What a table can't do is said.
-- keyfold
CREATE TABLE kept (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('ignore-delete' = 'true');
-- keyfold
INSERT INTO kept VALUES (1, 1);
-- error: DELETE FROM keyfold.sql_update.kept | ignore-delete
DELETE FROM kept WHERE id = 1;
-- error: DELETE FROM keyfold.sql_update.kept | ignore-delete
DELETE FROM kept;
-- error: kept | ignore-delete
UPDATE kept SET id = 2;
-- keyfold
UPDATE kept SET v = 2;
-- query
SELECT * FROM kept;
-- against
SELECT 1 AS id, 2 AS v;

-- A window function is a value like others; columns that it does not set stay.
-- keyfold
CREATE TABLE ranked (id INT, n INT, rest STRING, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine' = 'partial-update');
-- keyfold
INSERT INTO ranked VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c');
-- keyfold
UPDATE ranked SET n = row_number() OVER (ORDER BY id DESC) * 100 WHERE id > 1;
-- query
SELECT * FROM ranked;
-- against
SELECT * FROM VALUES (1, 10, 'a'), (2, 200, 'b'), (3, 100, 'c') AS t(id, n, rest);
