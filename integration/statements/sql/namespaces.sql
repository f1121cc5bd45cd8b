-- RENAME, DROP, TRUNCATE, SHOW TABLES, and namespaces with properties.
CREATE TABLE first (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
CREATE TABLE second (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO first VALUES (1, 'one'), (2, 'two');
-- holds: first | second
SHOW TABLES;
-- holds: first
SHOW TABLES LIKE 'f*';

ALTER TABLE first RENAME TO third;
-- query
SELECT * FROM third;
-- error: cannot be found | first
SELECT * FROM first;
-- error: exist
ALTER TABLE third RENAME TO second;

TRUNCATE TABLE third;
-- query any
SELECT count(*) FROM third;
INSERT INTO third VALUES (2, 'again');
-- query
SELECT * FROM third;

DROP TABLE third;
-- error: third
SELECT * FROM third;
DROP TABLE IF EXISTS third;
-- error: third
DROP TABLE third;
-- A new table of the same name starts empty.
CREATE TABLE third (k STRING, PRIMARY KEY (k) NOT ENFORCED);
-- query any
SELECT * FROM third;

-- keyfold
CREATE NAMESPACE keyfold.sql_spare COMMENT 'a spare one' WITH DBPROPERTIES ('team' = 'red');
-- holds: spare one | red
DESCRIBE NAMESPACE EXTENDED keyfold.sql_spare;
-- keyfold
ALTER NAMESPACE keyfold.sql_spare SET DBPROPERTIES ('team' = 'green');
-- holds: green
DESCRIBE NAMESPACE EXTENDED keyfold.sql_spare;
-- holds: sql_spare | sql_namespaces
SHOW NAMESPACES IN keyfold;
-- error: exist
CREATE NAMESPACE keyfold.sql_spare;
-- keyfold
CREATE NAMESPACE IF NOT EXISTS keyfold.sql_spare;
-- keyfold
CREATE TABLE keyfold.sql_spare.t (id INT, PRIMARY KEY (id));
-- error: sql_spare
DROP NAMESPACE keyfold.sql_spare;
-- keyfold
DROP NAMESPACE keyfold.sql_spare CASCADE;
-- error: sql_spare
DROP NAMESPACE keyfold.sql_spare;
-- keyfold
DROP NAMESPACE IF EXISTS keyfold.sql_spare;
-- error: nowhere
CREATE TABLE keyfold.nowhere.t (id INT, PRIMARY KEY (id));

-- RENAME takes a full name too, and names what is in its way.
-- keyfold
CREATE TABLE full_name (id INT, PRIMARY KEY (id));
-- keyfold
ALTER TABLE full_name RENAME TO keyfold.sql_namespaces.fuller_name;
-- holds: fuller_name
SHOW TABLES LIKE 'full*';
-- error: third | already exists
ALTER TABLE fuller_name RENAME TO keyfold.sql_namespaces.third;
-- error: nowhere | cannot be found
ALTER TABLE fuller_name RENAME TO keyfold.nowhere.t;
