-- MERGE: all clauses; plain Spark, which has no MERGE of its tables, says what must come out.
-- keyfold
CREATE TABLE t (id INT, a INT, b STRING, c INT DEFAULT 7, PRIMARY KEY (id));
-- keyfold
INSERT INTO t VALUES (1, 10, 'a', 1), (2, 20, 'b', 2), (3, 30, 'c', 3), (4, 40, 'd', 4), (5, 50, 'e', 5);
-- keyfold
CREATE TEMPORARY VIEW sql_merge_source AS SELECT * FROM VALUES (1, 'U'), (2, 'D'), (3, 'K'), (8, 'I'), (9, 'X') AS s(id, op);
-- keyfold
MERGE INTO t USING sql_merge_source AS s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED AND s.op = 'U' THEN UPDATE SET a = t.a + 1, b = s.op
WHEN NOT MATCHED AND s.op = 'I' THEN INSERT (id, b) VALUES (s.id, s.op)
WHEN NOT MATCHED BY SOURCE AND t.a >= 50 THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET c = NULL, b = concat(t.b, '!');
-- query
SELECT * FROM t;
-- against
SELECT * FROM VALUES (1, 11, 'U', 1), (3, 30, 'c', 3), (4, 40, 'd!', NULL), (8, NULL, 'I', 7) AS t(id, a, b, c);
-- Star forms; a source that is the table itself; extra conditions in ON.
-- keyfold
MERGE INTO t USING (SELECT id + 1 AS id, a, b, 0 AS c FROM t WHERE id < 4) AS s ON t.id = s.id AND t.a = 40
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND s.id = 2 THEN INSERT *;
-- query
SELECT * FROM t;
-- against
SELECT * FROM VALUES (1, 11, 'U', 1), (2, 11, 'U', 0), (3, 30, 'c', 3), (4, 30, 'c', 0), (8, NULL, 'I', 7) AS t(id, a, b, c);
-- ON columns outside the key: one source row for several rows of the table.
-- keyfold
MERGE INTO t USING (SELECT 'U' AS b, 1000 AS more) AS s ON t.b = s.b
WHEN MATCHED THEN UPDATE SET a = t.a + s.more;
-- query
SELECT id, a FROM t;
-- against
SELECT * FROM VALUES (1, 1011), (2, 1011), (3, 30), (4, 30), (8, NULL) AS t(id, a);
-- error: MERGE_CARDINALITY_VIOLATION
MERGE INTO t USING (SELECT * FROM VALUES (1, 5), (1, 6) AS v(id, a)) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a;
-- error: MERGE_CARDINALITY_VIOLATION | key (id = 77) 2 times
MERGE INTO t USING (SELECT * FROM VALUES (77, 5), (77, 6) AS v(id, a)) AS s ON t.id = s.id
WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a);
-- error: MERGE_CARDINALITY_VIOLATION | key (id = 77) 2 times
MERGE INTO t USING (SELECT * FROM VALUES (77, 5), (77, 6) AS v(id, a)) AS s ON t.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a);
-- keyfold
MERGE INTO t USING (SELECT * FROM VALUES (8, 5), (8, 6) AS v(id, a)) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;
-- query
SELECT id FROM t;
-- against
SELECT * FROM VALUES (1), (2), (3), (4) AS t(id);
-- New columns and wider types.
-- keyfold
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT * FROM VALUES (1, 5000000000L, 'new'), (6, 1L, 'also') AS v(id, a, d)) AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
-- query
SELECT id, a, b, d FROM t;
-- against
SELECT * FROM VALUES (1, 5000000000L, 'U', 'new'), (2, 1011L, 'U', NULL), (3, 30L, 'c', NULL), (4, 30L, 'c', NULL), (6, 1L, NULL, 'also') AS t(id, a, b, d);
-- keyfold
INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 2 AS id, 2L AS a, 2.5D AS e;
-- query
SELECT id, a, e FROM t WHERE id < 3;
-- against
SELECT * FROM VALUES (1, 5000000000L, NULL), (2, 2L, 2.5D) AS t(id, a, e);
-- CHAR, a field of a nested column, NULLs, and the casts and checks that Spark adds.
-- keyfold
CREATE TABLE typed (id INT, name CHAR(3), place STRUCT<x: INT, y: STRING>, n BIGINT NOT NULL, day DATE, PRIMARY KEY (id));
-- keyfold
INSERT INTO typed VALUES (1, 'a', named_struct('x', 1, 'y', 'one'), 1, DATE'2024-01-01'), (2, 'b', NULL, 2, NULL);
-- keyfold
MERGE INTO typed AS t USING (SELECT * FROM VALUES (1, 'zz', 9, 5), (3, 'c', 7, 6) AS v(id, name, x, n)) AS s
ON t.id = s.id AND t.name = 'a'
WHEN MATCHED THEN UPDATE SET name = s.name, place.x = s.x, n = s.n, day = NULL
WHEN NOT MATCHED THEN INSERT (id, name, place, n, day)
VALUES (s.id, s.name, named_struct('x', s.x, 'y', NULL), s.n, TIMESTAMP'2024-02-03 04:05:06');
-- query
SELECT id, name, place.x, place.y, n, day FROM typed;
-- against
SELECT * FROM VALUES (1, 'zz ', 9, 'one', 5L, NULL), (2, 'b  ', NULL, NULL, 2L, NULL), (3, 'c  ', 7, NULL, 6L, DATE'2024-02-03')
  AS t(id, name, x, y, n, day);
-- error: n | NOT NULL
MERGE INTO typed AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = NULLIF(t.n, 5);
-- error: length limitation: 3
MERGE INTO typed AS t USING (SELECT 4 AS id) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name, n) VALUES (s.id, 'four', 1);
-- error: CAST_OVERFLOW
MERGE INTO typed AS t USING (SELECT 5000000000L AS x) AS s ON t.id = 1 WHEN MATCHED THEN UPDATE SET place.x = s.x;
-- error: INCOMPATIBLE_DATA_FOR_TABLE
UPDATE typed SET n = 'twelve';
-- query
SELECT id, n FROM typed;
-- against
SELECT * FROM VALUES (1, 5L), (2, 2L), (3, 6L) AS t(id, n);
