-- CREATE, REPLACE and CREATE OR REPLACE TABLE … AS SELECT: the key comes from the property.
CREATE TABLE made TBLPROPERTIES ('primary-key' = 'id') AS
SELECT id, concat('v', id) AS v, id % 3 AS m FROM range(10);
-- query
SELECT * FROM made;
-- error: exist
CREATE TABLE made TBLPROPERTIES ('primary-key' = 'id') AS SELECT 1 AS id;
-- The key's columns became NOT NULL.
-- error: null
INSERT INTO made VALUES (NULL, 'x', 1);
-- query
SELECT count(*) FROM made;

-- keyfold
CREATE OR REPLACE TABLE made TBLPROPERTIES ('primary-key' = 'm') AS
SELECT m, max(id) AS top FROM made GROUP BY m;
-- query
SELECT * FROM made;
-- against
SELECT id % 3 AS m, max(id) AS top FROM range(10) GROUP BY 1;

-- A replace that fails leaves the old table.
-- error: no good
CREATE OR REPLACE TABLE made TBLPROPERTIES ('primary-key' = 'm') AS
SELECT m, IF(m = 2, CAST(raise_error('no good') AS INT), 1) AS v FROM made;
-- query
SELECT top FROM made;
-- against
SELECT max(id) AS top FROM range(10) GROUP BY id % 3;
-- error: null
CREATE OR REPLACE TABLE made TBLPROPERTIES ('primary-key' = 'm') AS
SELECT IF(m = 2, NULL, m) AS m FROM made;
-- query
SELECT count(top) FROM made;
-- against
SELECT 3L AS `count(top)`;
-- A create that fails leaves nothing.
-- error: no good
CREATE TABLE failed TBLPROPERTIES ('primary-key' = 'id') AS
SELECT id, CAST(raise_error('no good') AS INT) AS v FROM range(3);
-- error: failed
SELECT * FROM failed;

-- keyfold
REPLACE TABLE made TBLPROPERTIES ('primary-key' = 'k') AS SELECT 'one' AS k, 1 AS v;
-- query
SELECT * FROM made;
-- against
SELECT 'one' AS k, 1 AS v;
-- error: nothing_there
REPLACE TABLE nothing_there TBLPROPERTIES ('primary-key' = 'k') AS SELECT 'one' AS k;
-- keyfold
CREATE OR REPLACE TABLE made (a INT, b INT, PRIMARY KEY (a) NOT ENFORCED);
-- query any
SELECT * FROM made;
-- against
SELECT 1 AS a, 1 AS b WHERE false;

-- Duplicates of a key fold in the new table too.
-- keyfold
CREATE TABLE folded TBLPROPERTIES ('primary-key' = 'k', 'merge-engine' = 'aggregation',
  'fields.n.aggregate-function' = 'sum') AS SELECT id % 4 AS k, id AS n FROM range(100);
-- query
SELECT * FROM folded;
-- against
SELECT id % 4 AS k, sum(id) AS n FROM range(100) GROUP BY 1;
