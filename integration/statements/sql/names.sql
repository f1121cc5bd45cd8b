-- Names: other cases, dots, blanks and quotes, in keys, partitions, options and SHOW CREATE TABLE.
CREATE TABLE cases (Id INT, Day STRING, V INT, PRIMARY KEY (ID, day)) PARTITIONED BY (DAY);
INSERT INTO cases (v, DAY, id) VALUES (1, 'x', 1);
-- query
SELECT ID, day, v FROM cases WHERE iD = 1 AND dAY = 'x';
-- keyfold
CREATE TABLE newest (Id INT, Seq INT, PRIMARY KEY (ID))
TBLPROPERTIES ('sequence.field' = 'seq', 'bucket-key' = 'ID');
-- keyfold
INSERT INTO newest VALUES (1, 5), (1, 3);
-- query
SELECT id, seq FROM newest;
-- against
SELECT 1 AS id, 5 AS seq;

-- A column `a.b` is not the field b of a column a.
CREATE TABLE dots (`a.b` INT, a STRUCT<b: INT>, b STRING, PRIMARY KEY (`a.b`));
INSERT INTO dots VALUES (1, named_struct('b', 9), 'q'), (2, named_struct('b', 1), 'z');
-- query
SELECT * FROM dots WHERE a.b = 9;
-- query
SELECT * FROM dots WHERE `a.b` = 1;
-- query
SELECT `a.b`, a.b AS inner_b, b FROM dots WHERE a.b = 1 OR `a.b` = 1;

-- Names in messages and plans are what SQL takes.
-- error: table keyfold.sql_names.`my table`
CREATE TABLE `my table` (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('nope' = '1');
-- keyfold
CREATE TABLE `my table` (id INT, s STRING, `c d` VARCHAR(4), n ARRAY<STRING>, PRIMARY KEY (id));
-- holds: keyfold.sql_names.`my table`
EXPLAIN SELECT * FROM `my table`;

-- What SHOW CREATE TABLE prints of text columns is taken back.
-- keyfold
CREATE TABLE pasted (id INT NOT NULL, s STRING COLLATE UTF8_BINARY, v VARCHAR(4) COLLATE UTF8_BINARY,
  n ARRAY<STRING COLLATE UTF8_BINARY>, x STRUCT<y: STRING COLLATE UTF8_BINARY>,
  CONSTRAINT primary_key PRIMARY KEY (id) NOT ENFORCED NORELY)
TBLPROPERTIES ('bucket' = '4', 'primary-key' = 'id');
-- holds: s | string | varchar(4) | array<string> | struct<y:string> | Location
DESCRIBE EXTENDED pasted;

-- CHAR as a partition: its padding is part of no decision.
CREATE TABLE chars (id INT, p CHAR(5), PRIMARY KEY (id, p)) PARTITIONED BY (p);
INSERT INTO chars VALUES (1, 'a'), (2, 'b'), (3, 'b');
INSERT OVERWRITE chars PARTITION (p = 'a') VALUES (7);
-- query
SELECT id, concat('[', p, ']') AS p FROM chars;
-- query
SELECT id FROM chars WHERE p = 'b';
