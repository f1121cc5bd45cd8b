-- deduplicate: the last row of a key stays; sequence fields and row kinds decide otherwise.
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
-- keyfold
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (1, 'c'), (3, NULL), (1, 'd');
-- query
SELECT * FROM t;
-- against
SELECT * FROM VALUES (1, 'd'), (2, 'b'), (3, NULL) AS t(id, v);
-- keyfold
INSERT INTO t VALUES (2, NULL), (3, 'now');
-- query
SELECT * FROM t;
-- against
SELECT * FROM VALUES (1, 'd'), (2, NULL), (3, 'now') AS t(id, v);

-- keyfold
CREATE TABLE s (id INT, v STRING, at TIMESTAMP, n INT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('sequence.field' = 'at,n');
-- keyfold
INSERT INTO s VALUES (1, 'late', TIMESTAMP '2024-01-03 00:00:00', 1),
  (1, 'early', TIMESTAMP '2024-01-01 00:00:00', 9), (2, 'nothing', NULL, 5);
-- keyfold
INSERT INTO s VALUES (1, 'between', TIMESTAMP '2024-01-02 00:00:00', 5),
  (2, 'something', TIMESTAMP '2000-01-01 00:00:00', NULL), (3, 'tie one', NULL, NULL);
-- keyfold
INSERT INTO s VALUES (1, 'late, less', TIMESTAMP '2024-01-03 00:00:00', 0),
  (2, 'same time', TIMESTAMP '2000-01-01 00:00:00', -1), (3, 'tie two', NULL, NULL);
-- query
SELECT id, v FROM s;
-- against
SELECT * FROM VALUES (1, 'late'), (2, 'same time'), (3, 'tie two') AS t(id, v);

-- keyfold
CREATE TABLE down (id INT, v STRING, n BIGINT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('sequence.field' = 'n', 'sequence.field.sort-order' = 'descending');
-- keyfold
INSERT INTO down VALUES (1, 'two', 2), (1, 'one', 1), (1, 'three', 3), (2, 'null', NULL);
-- keyfold
INSERT INTO down VALUES (1, 'four', 4), (2, 'any', 100);
-- query
SELECT id, v FROM down;
-- against
SELECT * FROM VALUES (1, 'one'), (2, 'any') AS t(id, v);

-- keyfold
CREATE TABLE k (id INT, v STRING, op STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('rowkind.field' = 'op');
-- keyfold
INSERT INTO k VALUES (1, 'a', '+I'), (2, 'b', '+I'), (3, 'c', '+I'), (4, 'd', '-D');
-- keyfold
INSERT INTO k VALUES (1, 'a', '-D'), (2, 'b', '-U'), (2, 'bb', '+U'), (5, 'e', '+U');
-- query
SELECT id, v FROM k;
-- against
SELECT * FROM VALUES (2, 'bb'), (3, 'c'), (5, 'e') AS t(id, v);
-- query
SELECT count(*) FROM k WHERE id IN (1, 4);
-- against
SELECT 0L AS `count(1)`;
-- error: row kind
INSERT INTO k VALUES (6, 'f', 'D');
-- error: row kind
INSERT INTO k VALUES (6, 'f', NULL);

-- keyfold
CREATE TABLE i (id INT, v STRING, op STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('rowkind.field' = 'op', 'ignore-delete' = 'true');
-- keyfold
INSERT INTO i VALUES (1, 'a', '+I'), (1, 'a', '-D'), (2, 'b', '-U'), (3, 'c', '+U');
-- query
SELECT id, v FROM i;
-- against
SELECT * FROM VALUES (1, 'a'), (3, 'c') AS t(id, v);
