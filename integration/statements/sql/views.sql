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

-- Views of the catalog: columns with other names and comments, settings, names of then, and what they are made of.
CREATE VIEW named (number COMMENT 'its id', word) COMMENT 'two columns' TBLPROPERTIES ('team' = 'blue') AS SELECT id, v FROM t;
-- query
SELECT word, number FROM named WHERE number > 0 ORDER BY number;
INSERT INTO t VALUES (10, 'x');
-- query
SELECT a.word, b.v FROM named a JOIN t b ON a.number = b.id;
-- keyfold
CREATE NAMESPACE IF NOT EXISTS keyfold.sql_views_2;
-- keyfold
USE keyfold.sql_views_2;
-- query
SELECT * FROM keyfold.sql_views.named;
-- against
SELECT * FROM named;
-- keyfold
USE keyfold.sql_views;
-- query any
DESCRIBE named;
-- holds: number | int | its id | word | string | two columns | SELECT id, v FROM t | keyfold | sql_views | blue
DESCRIBE EXTENDED named;
-- holds: CREATE VIEW keyfold.sql_views.named | COMMENT 'its id' | COMMENT 'two columns' | 'team' = 'blue' | SELECT id, v FROM t
SHOW CREATE TABLE named;
-- holds: sql_views | named | False
SHOW VIEWS;
-- query any
SELECT count(*) FROM (SELECT * FROM named) WHERE word IS NULL;
-- holds: named
SHOW TABLES LIKE 'n*';
-- holds: team | blue
SHOW TBLPROPERTIES named;
-- query any
SHOW COLUMNS IN named;

-- Replaced, altered, renamed.
CREATE VIEW IF NOT EXISTS named AS SELECT 1 AS one;
-- query
SELECT * FROM named;
CREATE OR REPLACE VIEW named AS SELECT id, upper(v) AS u, length(v) AS n FROM t;
-- query
SELECT * FROM named;
ALTER VIEW named AS SELECT id, count(*) AS c FROM t GROUP BY id;
-- query
SELECT * FROM named;
ALTER VIEW named SET TBLPROPERTIES ('team' = 'red', 'kept' = 'yes');
ALTER VIEW named UNSET TBLPROPERTIES ('kept');
-- holds: team | red
SHOW TBLPROPERTIES named;
ALTER VIEW named RENAME TO counted;
-- query
SELECT * FROM counted;
-- error: TABLE_OR_VIEW_NOT_FOUND | named
SELECT * FROM named;
CREATE VIEW above AS SELECT max(c) AS top FROM counted;
-- query
SELECT * FROM above;
-- error: RECURSIVE_VIEW
CREATE OR REPLACE VIEW counted AS SELECT * FROM above;
-- query
WITH c AS (SELECT * FROM counted) SELECT * FROM c WHERE c = (SELECT top FROM above);
-- keyfold
ALTER VIEW counted RENAME TO keyfold.sql_views_2.counted;
-- holds: sql_views_2 | counted
SHOW VIEWS IN keyfold.sql_views_2;
-- keyfold
ALTER VIEW keyfold.sql_views_2.counted RENAME TO keyfold.sql_views.counted;
-- error: SCHEMA_NOT_FOUND | another
ALTER VIEW counted RENAME TO another.sql_views.counted;

-- The schema of then counts, up to safe casts; a column that is gone is named.
CREATE TABLE base (id INT, w INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO base VALUES (1, 2);
CREATE VIEW on_base AS SELECT * FROM base;
-- keyfold
ALTER TABLE base ADD COLUMN late STRING;
-- spark
ALTER TABLE base ADD COLUMNS (late STRING);
-- query
SELECT * FROM on_base;
-- keyfold
ALTER TABLE base DROP COLUMN w;
-- error: INCOMPATIBLE_VIEW_SCHEMA_CHANGE | on_base
SELECT * FROM on_base;
CREATE OR REPLACE VIEW on_base WITH SCHEMA EVOLUTION AS SELECT id FROM base;
-- query
SELECT * FROM on_base;

-- A view and a table share their names.
-- error: TABLE_OR_VIEW_ALREADY_EXISTS | counted
CREATE TABLE counted (id INT, PRIMARY KEY (id) NOT ENFORCED);
-- error: exists
CREATE OR REPLACE TABLE counted AS SELECT 1 AS id;
-- error: base
CREATE VIEW base AS SELECT 1 AS one;
-- error: base
CREATE OR REPLACE VIEW base AS SELECT 1 AS one;
-- error: base
ALTER VIEW counted RENAME TO base;
-- error: counted
ALTER TABLE base RENAME TO counted;
-- error: base
DROP VIEW base;
-- error: counted
DROP TABLE counted;
-- error: counted
INSERT INTO counted VALUES (1, 2);
-- error: counted
DELETE FROM counted;
-- error: counted
ALTER TABLE counted ADD COLUMN x INT;
-- error: counted
SELECT * FROM counted VERSION AS OF 1;
-- error: INTERVAL | c | CAST
CREATE VIEW interval AS SELECT INTERVAL 1 DAY AS c;
-- error: SCHEMA_NOT_EMPTY | sql_views
DROP NAMESPACE keyfold.sql_views;
DROP VIEW above;
DROP VIEW counted;
DROP VIEW on_base;
-- error: VIEW_NOT_FOUND | above
DROP VIEW above;
DROP VIEW IF EXISTS above;
-- keyfold
DROP NAMESPACE keyfold.sql_views_2;
