-- Temporary and stored views, and a cached table that is written to.
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, 'a'), (2, 'b');
CREATE TEMPORARY VIEW short AS SELECT id, upper(v) AS u FROM t WHERE id > 1;
-- query
SELECT * FROM short;
INSERT INTO t VALUES (3, 'c');
-- query
SELECT * FROM short;
-- query
SELECT a.u, b.v FROM short a JOIN t b ON a.id = b.id;

-- keyfold
CREATE OR REPLACE VIEW spark_catalog.default.stored_view AS SELECT v, id FROM keyfold.sql_views.t;
-- spark
CREATE OR REPLACE TEMPORARY VIEW stored_view AS SELECT v, id FROM t;
-- query
SELECT * FROM spark_catalog.default.stored_view WHERE id < 3;
-- against
SELECT * FROM stored_view WHERE id < 3;
-- keyfold
DROP VIEW spark_catalog.default.stored_view;

CACHE TABLE t;
-- query
SELECT count(*) FROM t;
INSERT INTO t VALUES (4, 'd');
-- query
SELECT * FROM t;
-- keyfold
INSERT INTO t VALUES (1, 'A');
-- query
SELECT v FROM t WHERE id = 1;
-- against
SELECT 'A' AS v;
INSERT OVERWRITE t VALUES (9, 'z');
-- query
SELECT * FROM t;
UNCACHE TABLE t;
-- query
SELECT * FROM t;
CACHE LAZY TABLE kept AS SELECT v FROM t;
-- query
SELECT * FROM kept;
UNCACHE TABLE kept;
