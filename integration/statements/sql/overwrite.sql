-- INSERT OVERWRITE: the whole table, one partition, and the partitions that come.
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE t VALUES (2, 'bb'), (3, 'cc');
-- query
SELECT * FROM t;
-- keyfold
INSERT OVERWRITE t SELECT id + 1, v FROM t;
-- query
SELECT * FROM t;
-- against
SELECT * FROM VALUES (3, 'bb'), (4, 'cc') AS t(id, v);
INSERT OVERWRITE t SELECT 1, 'x' WHERE false;
-- query any
SELECT count(*) FROM t;

CREATE TABLE p (id INT, v STRING, day DATE, kind STRING, PRIMARY KEY (day, kind, id) NOT ENFORCED)
PARTITIONED BY (day, kind);
INSERT INTO p VALUES (1, 'a', DATE '2024-01-01', 'x'), (2, 'b', DATE '2024-01-01', 'y'),
  (1, 'c', DATE '2024-01-02', 'x'), (3, 'd', DATE '2024-01-02', 'y');
-- query
SELECT * FROM p;
INSERT OVERWRITE p PARTITION (day = DATE '2024-01-01', kind = 'x') SELECT 9, 'nine';
-- query
SELECT * FROM p;
INSERT OVERWRITE p PARTITION (day = DATE '2024-01-02', kind) SELECT 8, 'eight', 'z';
-- query
SELECT * FROM p;
SET spark.sql.sources.partitionOverwriteMode = dynamic;
INSERT OVERWRITE p VALUES (5, 'five', DATE '2024-01-01', 'y'), (6, 'six', DATE '2024-01-03', 'x');
-- query
SELECT * FROM p;
SET spark.sql.sources.partitionOverwriteMode = static;
INSERT OVERWRITE p VALUES (7, 'seven', DATE '2024-01-04', 'x');
-- query
SELECT * FROM p;
-- keyfold
TRUNCATE TABLE p;
-- query any
SELECT count(*) FROM p;
-- against
SELECT 0L AS `count(1)`;
