-- Partitioned tables: every type that Spark and the format allow, filters on partitions, NULL.
CREATE TABLE t (id BIGINT, v STRING, day DATE, region STRING, n INT,
  PRIMARY KEY (id, day, region, n) NOT ENFORCED) PARTITIONED BY (day, region, n);
INSERT INTO t SELECT id, concat('v', id), date_add(DATE '2024-01-01', CAST(id % 3 AS INT)),
  IF(id % 2 = 0, 'a b/c', 'ü=:%'), CAST(id % 2 AS INT) FROM range(24);
-- query
SELECT * FROM t;
-- query
SELECT id FROM t WHERE day = DATE '2024-01-02' AND region = 'a b/c';
-- query
SELECT id FROM t WHERE region LIKE 'ü%' AND n > 0 AND id < 12;
-- query
SELECT day, region, count(*) FROM t GROUP BY day, region;
-- query
SELECT DISTINCT region FROM t;
-- query any
SELECT * FROM t WHERE day = DATE '1999-01-01';
-- keyfold
INSERT INTO t SELECT id, 'new', day, region, n FROM t WHERE id < 6;
-- query
SELECT id, v FROM t;
-- against
SELECT id, IF(id < 6, 'new', v) AS v FROM t;
INSERT INTO t PARTITION (day = DATE '2024-05-05', region = 'r', n = 3) SELECT 100, 'static';
-- query
SELECT * FROM t WHERE n = 3;

-- The same key in two partitions is two rows: the partition column is part of the key.
CREATE TABLE two (p STRING, id INT, v INT, PRIMARY KEY (p, id) NOT ENFORCED) PARTITIONED BY (p);
-- keyfold
INSERT INTO two VALUES ('a', 1, 10), ('b', 1, 20), ('a', 1, 11);
-- query
SELECT p, id, v FROM two;
-- against
SELECT * FROM VALUES ('a', 1, 11), ('b', 1, 20) AS t(p, id, v);
