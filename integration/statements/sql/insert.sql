-- INSERT INTO: column lists, BY NAME, DEFAULT, from queries.
CREATE TABLE t (id INT, a STRING DEFAULT 'none', b DOUBLE, c DATE DEFAULT DATE '2020-01-01',
  PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, 'one', 1.5, DATE '2024-01-01');
INSERT INTO t (id, b) VALUES (2, 2.5), (3, NULL);
INSERT INTO t (b, id) VALUES (4.5, 4);
INSERT INTO t VALUES (5, DEFAULT, 5.5, DEFAULT);
INSERT INTO t BY NAME SELECT 6.5D AS b, 6 AS id, 'six' AS a;
INSERT INTO t BY NAME SELECT 7 AS id;
-- query
SELECT * FROM t;
INSERT INTO t SELECT id + 10, concat('n', id), id, NULL FROM range(5) WHERE id <> 2;
-- query
SELECT * FROM t WHERE id >= 10;
-- NULL said is NULL, not the default.
INSERT INTO t (id, a) VALUES (20, NULL);
-- query
SELECT a IS NULL, c FROM t WHERE id = 20;

-- From the table itself.
-- keyfold
INSERT INTO t SELECT id, upper(a), b, c FROM t WHERE a LIKE 'n%';
-- query
SELECT id, a FROM t;
-- against
SELECT id, IF(a LIKE 'n%', upper(a), a) AS a FROM t;

-- Casts as Spark's store assignment wants them.
INSERT INTO t SELECT 30, 'cast', 1, DATE '2024-01-01';
-- query
SELECT b FROM t WHERE id = 30;
-- error: cast
INSERT INTO t VALUES ('not a number', 'x', 1.0, NULL);
-- error: columns
INSERT INTO t VALUES (1, 'x');
-- error: nope
INSERT INTO t (id, nope) VALUES (1, 'x');
-- error: nope
INSERT INTO t BY NAME SELECT 1 AS id, 2 AS nope;

-- An empty input changes nothing.
INSERT INTO t SELECT * FROM t WHERE id < 0;
-- query
SELECT count(*) FROM t;
