-- A sum that no longer fits its column: nothing is lost, and a wider type heals the table.
-- keyfold
CREATE TABLE sums (id INT, n TINYINT, d DECIMAL(3, 2), v STRING, PRIMARY KEY (id))
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum',
  'fields.d.aggregate-function' = 'sum');
-- keyfold
INSERT INTO sums VALUES (1, 127, 9.99, 'a'), (2, 1, 1.00, 'b');
-- keyfold
INSERT INTO sums VALUES (1, 100, 0.01, 'c');
-- error: ALTER TABLE keyfold.sql_widen.sums ALTER COLUMN n TYPE BIGINT
SELECT n FROM sums;
-- query
SELECT id, v FROM sums;
-- against
SELECT * FROM VALUES (1, 'c'), (2, 'b') AS t(id, v);
-- keyfold
ALTER TABLE keyfold.sql_widen.sums ALTER COLUMN n TYPE BIGINT;
-- query
SELECT id, n FROM sums;
-- against
SELECT * FROM VALUES (1, 227L), (2, 1L) AS t(id, n);
-- error: ALTER TABLE keyfold.sql_widen.sums ALTER COLUMN d TYPE DECIMAL(38, 2)
SELECT d FROM sums;
-- keyfold
ALTER TABLE keyfold.sql_widen.sums ALTER COLUMN d TYPE DECIMAL(38, 2);
-- keyfold
INSERT INTO sums VALUES (1, 1000000, 1.00, 'd');
-- query
SELECT * FROM sums;
-- against
SELECT * FROM VALUES (1, 1000227L, CAST(11.00 AS DECIMAL(38, 2)), 'd'),
  (2, 1L, CAST(1.00 AS DECIMAL(38, 2)), 'b') AS t(id, n, d, v);

-- Every widening there is, over rows of the old type; extremes included.
-- keyfold
CREATE TABLE widths (id INT, a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DECIMAL(5, 2),
  g VARCHAR(3), PRIMARY KEY (id));
-- keyfold
INSERT INTO widths VALUES (1, -128, -32768, -2147483648, -9223372036854775808, 1.5, -999.99, 'abc'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, 127, 32767, 2147483647, 9223372036854775807,
  float('nan'), 999.99, '');
-- keyfold
ALTER TABLE widths ALTER COLUMN a TYPE SMALLINT, b TYPE DECIMAL(7, 2), c TYPE BIGINT,
  d TYPE DECIMAL(38, 0), e TYPE DOUBLE, f TYPE DECIMAL(20, 2), g TYPE STRING;
-- keyfold
INSERT INTO widths VALUES (4, 300, 1.25, 3000000000, 1, 1e300, 1, 'longer'), (3, 1, 1, 1, 1, 1, 1, 'x');
-- query
SELECT * FROM widths;
-- against
SELECT * FROM VALUES
  (1, -128S, CAST(-32768 AS DECIMAL(7, 2)), -2147483648L, CAST('-9223372036854775808' AS DECIMAL(38, 0)),
    1.5D, CAST(-999.99 AS DECIMAL(20, 2)), 'abc'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 1S, CAST(1 AS DECIMAL(7, 2)), 1L, CAST(1 AS DECIMAL(38, 0)), 1D, CAST(1 AS DECIMAL(20, 2)), 'x'),
  (4, 300S, CAST(1.25 AS DECIMAL(7, 2)), 3000000000L, CAST(1 AS DECIMAL(38, 0)), 1e300D,
    CAST(1 AS DECIMAL(20, 2)), 'longer')
  AS t(id, a, b, c, d, e, f, g);

-- error: column id: it is part of the primary key or partitioning, its type is fixed
ALTER TABLE widths ALTER COLUMN id TYPE BIGINT;
-- error: c | BIGINT
ALTER TABLE widths ALTER COLUMN c TYPE INT;
-- error: column a: changing it from SMALLINT to DOUBLE is not supported
ALTER TABLE widths ALTER COLUMN a TYPE DOUBLE;
