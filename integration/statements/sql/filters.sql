-- Filters on keys prune before the merge; filters on values see merged rows only. Limits count them.
CREATE TABLE t (id INT, a INT, s STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('bucket' = '4');
INSERT INTO t SELECT CAST(id AS INT), CAST(id AS INT), concat('s', id % 7) FROM range(200);
-- keyfold
INSERT INTO t SELECT CAST(id * 2 AS INT), -1, 'new' FROM range(50);
-- spark
CREATE OR REPLACE TEMPORARY VIEW m AS
SELECT id, IF(id % 2 = 0 AND id < 100, -1, a) AS a, IF(id % 2 = 0 AND id < 100, 'new', s) AS s FROM t;
-- keyfold
CREATE OR REPLACE TEMPORARY VIEW m AS SELECT * FROM t;
-- query
SELECT * FROM m;
-- query
SELECT * FROM m WHERE id = 4;
-- query any
SELECT * FROM m WHERE id = 4 AND id = 5;
-- query
SELECT a, s FROM m WHERE id IN (3, 4, 5, 199, 1000);
-- query
SELECT id FROM m WHERE id > 20 AND id <= 26 OR id >= 198;
-- query
SELECT id FROM m WHERE id BETWEEN 95 AND 105 AND s <> 'new';
-- An old value of a replaced row must not come back.
-- query
SELECT id FROM m WHERE a = 4;
-- query
SELECT id FROM m WHERE a = 4 AND id = 4;
-- query
SELECT count(*) FROM m WHERE a = -1;
-- query
SELECT id FROM m WHERE s = 's3' AND id < 60;
-- query
SELECT id FROM m WHERE NOT (id > 3) AND a IS NOT NULL;
-- query
SELECT id FROM m WHERE id <=> 7 OR id IS NULL;
-- query
SELECT id FROM m WHERE id + 1 = 8;
-- query ordered
SELECT id, a FROM m ORDER BY id DESC LIMIT 5;
-- query
SELECT count(*) FROM (SELECT * FROM m LIMIT 120);
-- query
SELECT count(*) FROM (SELECT * FROM m LIMIT 1000);
-- query
SELECT count(*) FROM (SELECT * FROM m WHERE a >= 0 LIMIT 149);
-- query ordered
SELECT id FROM m ORDER BY id LIMIT 3 OFFSET 10;
-- query
SELECT 1 AS one FROM m WHERE id < 3;
-- query
SELECT s, count(*), sum(a) FROM m GROUP BY s HAVING count(*) > 10;

-- String keys by prefix.
CREATE TABLE n (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO n VALUES ('apple', 1), ('apricot', 2), ('banana', 3), ('', 4), ('ap', 5), ('äpfel', 6);
-- query
SELECT v FROM n WHERE k LIKE 'ap%';
-- query
SELECT v FROM n WHERE k >= 'b';
-- query
SELECT v FROM n WHERE k = '';
-- query
SELECT v FROM n WHERE k LIKE '%an%' OR length(k) = 5;

-- A NULL among constants of BINARY, which Spark can't print.
CREATE TABLE bytes (k INT, b BINARY, s STRUCT<b: BINARY>, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO bytes SELECT 1, X'FF', named_struct('b', X'01') UNION ALL SELECT 2, NULL, NULL;
-- query
SELECT k FROM bytes WHERE b IN (X'FF', NULL);
-- query
SELECT k FROM bytes WHERE s.b IN (X'01', NULL) AND k > 0;
-- query
SELECT k FROM bytes WHERE CASE WHEN b IN (X'FE', NULL) THEN false ELSE k = 1 END;
