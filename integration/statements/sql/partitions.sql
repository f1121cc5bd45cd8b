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

-- NULL and blank texts are stored in one folder, and stay partitions of their own.
-- keyfold
CREATE TABLE blanks (p STRING, k INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '1', 'primary-key.nullable' = 'true');
-- keyfold
INSERT INTO blanks VALUES ('', 5), (' ', 1), (NULL, 1), ('c', 1), ('d', 1), ('e', 1), ('f', 1);
-- query
SELECT p, count(*) AS n, sum(k) AS s FROM blanks GROUP BY p;
-- against
SELECT p, 1L AS n, k AS s FROM VALUES ('', 5L), (' ', 1L), (NULL, 1L), ('c', 1L), ('d', 1L), ('e', 1L), ('f', 1L) AS t(p, k);
-- query
SELECT * FROM blanks WHERE (p = '' AND k = 5) OR (p <> '' AND k = 1);
-- against
SELECT * FROM VALUES ('', 5), (' ', 1), ('c', 1), ('d', 1), ('e', 1), ('f', 1) AS t(p, k);
-- keyfold
DELETE FROM blanks WHERE (p = '' AND k = 5) OR (p <> '' AND k = 1);
-- query
SELECT * FROM blanks;
-- against
SELECT CAST(NULL AS STRING) AS p, 1 AS k;
-- keyfold
CREATE TABLE told (p STRING, k INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)
TBLPROPERTIES ('bucket' = '1', 'changelog-producer' = 'lookup');
-- keyfold
INSERT INTO told VALUES ('', 5), (' ', 1), ('  ', 1), ('c', 1);
-- keyfold
INSERT OVERWRITE told VALUES ('d', 1);
-- query any
SELECT p, k FROM told CHANGES FROM VERSION 1 WHERE _change_type = 'delete';
-- against
SELECT * FROM VALUES ('', 5), (' ', 1), ('  ', 1), ('c', 1) AS t(p, k);
-- query any
SELECT p, k FROM told CHANGES FROM VERSION 1 WHERE _change_type = 'delete' AND p = '';
-- against
SELECT '' AS p, 5 AS k;
-- query any
SELECT p, k FROM told CHANGES FROM VERSION 1 WHERE _change_type = 'delete' AND p = ' ';
-- against
SELECT ' ' AS p, 1 AS k;
