-- ALTER TABLE: properties and new columns; everything else is refused in a sentence.
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

-- error: keyfold.sql_alter.t: DROP COLUMN v is not supported
ALTER TABLE t DROP COLUMN v;
-- error: keyfold.sql_alter.t: RENAME COLUMN v is not supported
ALTER TABLE t RENAME COLUMN v TO vv;
-- error: ALTER COLUMN w SET or DROP DEFAULT is not supported
ALTER TABLE t ALTER COLUMN w SET DEFAULT 1;
-- error: ALTER COLUMN w FIRST or AFTER is not supported
ALTER TABLE t ALTER COLUMN w FIRST;
-- error: ADD CONSTRAINT is not supported
ALTER TABLE t ADD CONSTRAINT positive CHECK (w > 0);
-- error: property location can't be changed
ALTER TABLE t SET LOCATION '/elsewhere';
-- error: nested field y.c is not supported
ALTER TABLE t ADD COLUMN y.c INT;
-- error: exist
ALTER TABLE t ADD COLUMN v STRING;
-- error: VARIANT
ALTER TABLE t ADD COLUMN z VARIANT;
-- query
SELECT id, v FROM t WHERE id > 1;

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
