-- CREATE TABLE: where the key may stand, IF NOT EXISTS, and what Spark then tells of the table.
CREATE TABLE plain_words (id BIGINT NOT NULL COMMENT 'who', name STRING, PRIMARY KEY (id))
COMMENT 'people';
INSERT INTO plain_words VALUES (1, 'a'), (2, NULL);
-- query
SELECT * FROM plain_words;

CREATE TABLE not_enforced (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO not_enforced VALUES (1, 'a'), (2, 'b');
-- query
SELECT name, id FROM not_enforced;

CREATE TABLE by_property (id BIGINT, name STRING) TBLPROPERTIES ('primary-key' = 'id');
INSERT INTO by_property VALUES (3, 'c');
-- query
SELECT count(*), max(name) FROM by_property;

-- IF NOT EXISTS leaves the table as it is.
CREATE TABLE IF NOT EXISTS by_property (other INT, PRIMARY KEY (other));
-- query
SELECT id FROM by_property;
-- error: already exists
CREATE TABLE by_property (other INT, PRIMARY KEY (other));

-- holds: id | bigint | who | name | string
DESCRIBE plain_words;
-- holds: people | keyfold | id
DESCRIBE EXTENDED plain_words;
-- holds: CREATE TABLE | PRIMARY KEY | id | name STRING | people
SHOW CREATE TABLE plain_words;
-- holds: bucket
SHOW TBLPROPERTIES plain_words;
-- holds: id
SHOW COLUMNS IN plain_words;

-- Key columns are NOT NULL, whatever was said.
-- error: null
INSERT INTO not_enforced VALUES (NULL, 'x');

-- An empty table answers too.
CREATE TABLE empty (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
-- query any
SELECT * FROM empty;
-- query any
SELECT count(*), sum(id) FROM empty;

-- Names that need quotes.
CREATE TABLE odd_names (`a key` INT, `select` STRING, `Ünï` DOUBLE, PRIMARY KEY (`a key`));
INSERT INTO odd_names VALUES (1, 'x', 1.5);
-- query
SELECT `a key`, `select`, `Ünï` FROM odd_names WHERE `a key` = 1;

-- A format, where it is ours or that of data files, and a key on its column.
-- keyfold
CREATE TABLE with_format (id INT PRIMARY KEY, v STRING) USING keyfold;
-- keyfold
INSERT INTO with_format VALUES (1, 'a'), (2, 'b');
-- query
SELECT * FROM with_format;
-- against
SELECT id, CAST(v AS STRING) AS v FROM VALUES (1, 'a'), (2, 'b') AS t (id, v);
-- keyfold
CREATE TABLE in_parquet (id INT, v STRING, PRIMARY KEY (id)) USING parquet;
-- query any
SELECT count(*) FROM in_parquet;
-- against
SELECT 0L AS `count(1)`;
-- A path as a name, of what is no table.
-- error: TABLE_OR_VIEW_NOT_FOUND | /elsewhere/t
SELECT * FROM keyfold.`/elsewhere/t`;
-- error: TABLE_OR_VIEW_NOT_FOUND | nothing
SELECT count(*) FROM keyfold.nothing;
