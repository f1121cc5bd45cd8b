-- ALTER TABLE: properties and columns; what stored rows could not follow is refused in a sentence.
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, 'one'), (2, 'two');

ALTER TABLE t SET TBLPROPERTIES ('keyfold.tag.team' = 'blue');
-- holds: blue
SHOW TBLPROPERTIES t ('keyfold.tag.team');
ALTER TABLE t UNSET TBLPROPERTIES ('keyfold.tag.team');
-- holds: does not have property
SHOW TBLPROPERTIES t ('keyfold.tag.team');
-- keyfold
ALTER TABLE t SET TBLPROPERTIES ('target-file-size' = '64 mb');
-- holds: 64 mb
SHOW TBLPROPERTIES t ('target-file-size');
-- error: target-file-size
ALTER TABLE t SET TBLPROPERTIES ('target-file-sise' = '64 mb');
-- error: bucket
ALTER TABLE t SET TBLPROPERTIES ('bucket' = '7');

-- Rows written before a column was added have NULL in it.
ALTER TABLE t ADD COLUMN w DOUBLE COMMENT 'weight';
INSERT INTO t VALUES (3, 'three', 3.5);
-- query
SELECT * FROM t;
-- query
SELECT id FROM t WHERE w IS NULL;
ALTER TABLE t ADD COLUMNS (x ARRAY<INT>, y STRUCT<a: INT, b: STRING>);
INSERT INTO t VALUES (4, 'four', 4.5, array(1, 2), named_struct('a', 1, 'b', 'q'));
-- query
SELECT * FROM t;
-- holds: weight
DESCRIBE t;

-- A row written again fills the new column.
-- keyfold
INSERT INTO t VALUES (1, 'uno', 1.5, NULL, NULL);
-- query
SELECT id, v, w FROM t WHERE id <= 2;
-- against
SELECT * FROM VALUES (1, 'uno', 1.5D), (2, 'two', NULL) AS t(id, v, w);

-- error: keyfold.sql_alter.t: ADD CONSTRAINT is not supported | would not be enforced
ALTER TABLE t ADD CONSTRAINT positive CHECK (w > 0);
-- error: ADD CONSTRAINT is not supported
ALTER TABLE t ADD CONSTRAINT once UNIQUE (w);
-- error: ADD CONSTRAINT is not supported
ALTER TABLE t ADD CONSTRAINT there FOREIGN KEY (w) REFERENCES t (id);
-- error: CLUSTER BY is not supported
ALTER TABLE t CLUSTER BY (w);
-- error: property location can't be changed
ALTER TABLE t SET LOCATION '/elsewhere';
-- error: exist
ALTER TABLE t ADD COLUMN v STRING;
-- error: INTERVAL
ALTER TABLE t ADD COLUMN z INTERVAL DAY;
-- error: column z | it must be nullable, stored rows have no value
ALTER TABLE t ADD COLUMN z INT NOT NULL;
-- error: column id | it is part of the primary key or partitioning, which stay
ALTER TABLE t DROP COLUMN id;
-- error: column id | files hold it as _KEY_id
ALTER TABLE t RENAME COLUMN id TO key;
-- error: column id | its type is fixed
ALTER TABLE t ALTER COLUMN id TYPE BIGINT;
-- error: column id | primary-key.nullable
ALTER TABLE t ALTER COLUMN id DROP NOT NULL;
-- error: Cannot change nullable column to non-nullable
ALTER TABLE t ALTER COLUMN v SET NOT NULL;
-- error: STRING | INT
ALTER TABLE t ALTER COLUMN v TYPE INT;
-- error: merge-engine can't be changed once the table holds data
ALTER TABLE t SET TBLPROPERTIES ('merge-engine' = 'aggregation');
-- error: primary-key can't be changed
ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'v');
-- error: bucket can't be changed once the table holds data | CALL sys.rescale
ALTER TABLE t SET TBLPROPERTIES ('bucket' = '2');
-- query
SELECT id, v FROM t WHERE id > 1;

-- DEFAULT: rows that are stored have the constant of when the column was added.
CREATE TABLE d (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO d VALUES (1, 10), (2, 20);
ALTER TABLE d ADD COLUMN n INT DEFAULT 5;
ALTER TABLE d ADD COLUMNS (t STRING DEFAULT 'it''s', p DECIMAL(5, 2) DEFAULT 1.5, day DATE DEFAULT DATE'2024-02-29',
  at TIMESTAMP DEFAULT TIMESTAMP'2024-02-29 12:00:00', x DOUBLE DEFAULT 0.5, b BOOLEAN DEFAULT true, z BIGINT DEFAULT 2 + 3);
INSERT INTO d (id, v) VALUES (3, 30);
INSERT INTO d VALUES (4, 40, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
ALTER TABLE d ALTER COLUMN n SET DEFAULT 6;
INSERT INTO d (id) VALUES (5);
ALTER TABLE d ALTER COLUMN n DROP DEFAULT;
INSERT INTO d (id) VALUES (6);
-- query
SELECT * FROM d;
-- query
SELECT id FROM d WHERE n = 5;
-- query
SELECT id FROM d WHERE n IS NULL;
-- query
SELECT count(n), min(n), max(n), sum(z) FROM d;
-- error: column a | its DEFAULT is no constant of an atomic type
ALTER TABLE d ADD COLUMN a ARRAY<INT> DEFAULT array(1);
-- keyfold
CREATE TABLE summed (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum');
-- keyfold
INSERT INTO summed VALUES (1, 10);
-- error: column n | folds by sum, which would count the DEFAULT once for each record
ALTER TABLE summed ADD COLUMN n INT DEFAULT 5;

-- Names, places, types, what is dropped.
-- keyfold
CREATE TABLE c (id INT, a INT, b STRING, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>,
  PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('write-only' = 'true');
-- keyfold
INSERT INTO c VALUES (1, 1, 'one', named_struct('x', 1, 'y', 'y1'), array(named_struct('x', 1)), map('k', 1)),
  (2, 2, 'two', NULL, NULL, NULL);
-- keyfold
ALTER TABLE c RENAME COLUMN a TO n;
-- keyfold
ALTER TABLE c ALTER COLUMN n TYPE BIGINT;
-- keyfold
ALTER TABLE c DROP COLUMN b;
-- keyfold
ALTER TABLE c ADD COLUMN b INT AFTER id;
-- keyfold
ALTER TABLE c RENAME COLUMN s.x TO w;
-- keyfold
ALTER TABLE c ADD COLUMNS (s.x DOUBLE FIRST, l.element.y INT, m2 MAP<STRING, STRUCT<q: INT>>);
-- keyfold
ALTER TABLE c DROP COLUMN s.y;
-- keyfold
ALTER TABLE c ALTER COLUMN s.w TYPE BIGINT;
-- keyfold
ALTER TABLE c ALTER COLUMN m.value TYPE BIGINT;
-- keyfold
ALTER TABLE c ALTER COLUMN n COMMENT 'a number';
-- keyfold
ALTER TABLE c ALTER COLUMN s.w COMMENT 'inside';
-- keyfold
ALTER TABLE c ADD COLUMN m2.value.r STRING;
-- keyfold
ALTER TABLE c ALTER COLUMN n FIRST;
-- keyfold
ALTER TABLE c ALTER COLUMN s AFTER m;
-- keyfold
INSERT INTO c VALUES (3000000000, 2, 7, array(named_struct('x', 2, 'y', 3)), map('k', 3000000000),
  named_struct('x', 0.5D, 'w', 4), map('k', named_struct('q', 5, 'r', 'six')));
-- query
SELECT * FROM c;
-- against
SELECT * FROM VALUES
  (1L, 1, CAST(NULL AS INT), array(named_struct('x', 1, 'y', CAST(NULL AS INT))), map('k', 1L),
   named_struct('x', CAST(NULL AS DOUBLE), 'w', 1L), CAST(NULL AS MAP<STRING, STRUCT<q: INT, r: STRING>>)),
  (3000000000L, 2, 7, array(named_struct('x', 2, 'y', 3)), map('k', 3000000000L),
   named_struct('x', 0.5D, 'w', 4L), map('k', named_struct('q', 5, 'r', 'six')))
  AS t(n, id, b, l, m, s, m2);
-- query
SELECT id FROM c WHERE n = 1;
-- against
SELECT 1 AS id;
-- query
SELECT id FROM c WHERE s.w = 1 AND b IS NULL;
-- against
SELECT 1 AS id;
-- holds: a number
DESCRIBE c;
-- error: nothing would be left
ALTER TABLE c DROP COLUMN l.element.x, l.element.y;
-- error: cannot be resolved
ALTER TABLE c DROP COLUMN l.element.nope;

-- Options that name a column follow it; one that orders rows can't be dropped.
-- keyfold
CREATE TABLE o (id INT, g INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('sequence.field' = 'g', 'write-only' = 'true');
-- keyfold
INSERT INTO o VALUES (1, 2, 'new');
-- error: column g | option sequence.field names it, so it can't be dropped
ALTER TABLE o DROP COLUMN g;
-- keyfold
ALTER TABLE o RENAME COLUMN g TO version;
-- holds: version
SHOW TBLPROPERTIES o ('sequence.field');
-- keyfold
INSERT INTO o VALUES (1, 1, 'old');
-- query
SELECT * FROM o;
-- against
SELECT * FROM VALUES (1, 2, 'new') AS t(id, version, v);

-- A table without data takes more.
-- keyfold
CREATE TABLE e (id INT, v STRING NOT NULL, PRIMARY KEY (id) NOT ENFORCED);
-- keyfold
ALTER TABLE e RENAME COLUMN id TO key;
-- keyfold
ALTER TABLE e SET TBLPROPERTIES ('bucket' = '2');
-- keyfold
INSERT INTO e VALUES (1, 'one');
-- keyfold
ALTER TABLE e ALTER COLUMN v DROP NOT NULL;
-- keyfold
INSERT INTO e VALUES (2, NULL);
-- query
SELECT * FROM e;
-- against
SELECT * FROM VALUES (1, 'one'), (2, NULL) AS t(key, v);

-- Places and names of new columns.
-- keyfold
CREATE TABLE placed (id INT, v INT, PRIMARY KEY (id));
-- keyfold
INSERT INTO placed VALUES (1, 2);
-- keyfold
ALTER TABLE placed ADD COLUMN a INT FIRST;
-- keyfold
ALTER TABLE placed ADD COLUMN b INT AFTER ID;
-- keyfold
ALTER TABLE placed ADD COLUMN `v.x` INT;
-- keyfold
INSERT INTO placed VALUES (9, 2, 8, 7, 6);
-- query
SELECT * FROM placed;
-- against
SELECT * FROM VALUES (NULL, 1, NULL, 2, NULL), (9, 2, 8, 7, 6) AS t(a, id, b, v, `v.x`);

-- Rows of some columns keep what they name by the columns' ids.
-- keyfold
CREATE TABLE named (id INT, a INT, b INT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.a.aggregate-function' = 'last_value',
  'fields.b.aggregate-function' = 'last_value', 'write-only' = 'true');
-- keyfold
INSERT INTO named VALUES (1, 5, 6), (2, 7, 8);
-- keyfold
INSERT INTO named (id, b) VALUES (1, 60);
-- keyfold
ALTER TABLE named ADD COLUMN c INT DEFAULT 1;
-- query
SELECT * FROM named;
-- against
SELECT * FROM VALUES (1, 5, 60, 1), (2, 7, 8, 1) AS t(id, a, b, c);
-- keyfold
ALTER TABLE named DROP COLUMN c;
-- keyfold
ALTER TABLE named RENAME COLUMN a TO x;
-- keyfold
ALTER TABLE named RENAME COLUMN b TO a;
-- keyfold
ALTER TABLE named ADD COLUMN b INT;
-- keyfold
INSERT INTO named (id, x) VALUES (2, 70);
-- query
SELECT * FROM named;
-- against
SELECT * FROM VALUES (1, 5, 60, NULL), (2, 70, 8, NULL) AS t(id, x, a, b);
-- keyfold
ALTER TABLE named DROP COLUMN a;
-- keyfold
CALL keyfold.sys.compact('sql_alter.named');
-- query
SELECT * FROM named;
-- against
SELECT * FROM VALUES (1, 5, NULL), (2, 70, NULL) AS t(id, x, b);
-- keyfold
ALTER TABLE named ADD COLUMN c INT DEFAULT 1;
-- query
SELECT * FROM named;
-- against
SELECT * FROM VALUES (1, 5, NULL, 1), (2, 70, NULL, 1) AS t(id, x, b, c);

-- A producer of changelogs begins with a table whose changes have all been told.
-- keyfold
CREATE TABLE told (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '1');
-- keyfold
ALTER TABLE told SET TBLPROPERTIES ('changelog-producer' = 'full-compaction');
-- keyfold
ALTER TABLE told UNSET TBLPROPERTIES ('changelog-producer');
-- keyfold
INSERT INTO told VALUES (1, 1), (2, 2);
-- error: changelog-producer can't be changed from none to lookup | sys.compact
ALTER TABLE told SET TBLPROPERTIES ('changelog-producer' = 'lookup');
-- keyfold
ALTER TABLE told SET TBLPROPERTIES ('changelog-producer' = 'input');
-- keyfold
CALL keyfold.sys.compact(table => 'sql_alter.told', compact_strategy => 'full');
-- keyfold
ALTER TABLE told SET TBLPROPERTIES ('changelog-producer' = 'lookup');
-- keyfold
INSERT INTO told VALUES (1, 5), (3, 3);
-- query any
SELECT k, v, _change_type AS c FROM told CHANGES FROM VERSION 1 WITH ('computeUpdates' = 'true');
-- against
SELECT * FROM VALUES (1, 1, 'insert'), (2, 2, 'insert'), (1, 1, 'update_preimage'), (1, 5, 'update_postimage'), (3, 3, 'insert') AS t(k, v, c);
