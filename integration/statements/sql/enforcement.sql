-- NOT NULL and the lengths of CHAR and VARCHAR are enforced; a failed INSERT leaves no row.
CREATE TABLE t (id INT, must STRING NOT NULL, c CHAR(3), v VARCHAR(4), PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, 'x', 'ab', 'abcd');
-- error: null
INSERT INTO t VALUES (2, NULL, 'ab', 'abcd');
-- error: null
INSERT INTO t SELECT id + 2, IF(id = 3, NULL, 'x'), 'a', 'b' FROM range(5);
-- error: length
INSERT INTO t VALUES (3, 'x', 'abcd', 'abcd');
-- error: length
INSERT INTO t VALUES (4, 'x', 'abc', 'abcde');
-- error: must
INSERT INTO t (id, c) VALUES (5, 'abc');
-- Blanks beyond the length are cut, as Spark does.
INSERT INTO t VALUES (6, 'x', 'a      ', 'ab        ');
-- query
SELECT id, must, concat(c, '|'), concat(v, '|') FROM t;
-- query
SELECT id FROM t WHERE c = 'a';
