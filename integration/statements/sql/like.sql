-- CREATE TABLE LIKE: columns, key, partitioning, options and comment of another table, none of its rows.
-- keyfold
CREATE TABLE sums (k INT, day DATE, total BIGINT COMMENT 'of all', name VARCHAR(5) DEFAULT 'none',
  PRIMARY KEY (k, day) NOT ENFORCED) PARTITIONED BY (day) COMMENT 'by day'
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.total.aggregate-function' = 'sum', 'bucket' = '2');
-- keyfold
INSERT INTO sums VALUES (1, DATE '2024-01-01', 10, 'a');
-- keyfold
CREATE TABLE other LIKE sums;
-- keyfold
INSERT INTO other (k, day, total) VALUES (1, DATE '2024-01-02', 1), (1, DATE '2024-01-02', 2);
-- query
SELECT k, day, total, name FROM other;
-- against
SELECT 1 AS k, DATE '2024-01-02' AS day, 3L AS total, CAST(NULL AS STRING) AS name;
-- holds: k,day | aggregation
SHOW TBLPROPERTIES other;
-- holds: by day | PARTITIONED BY (day) | name VARCHAR(5) | DEFAULT 'none' | COMMENT 'of all' | PRIMARY KEY (k, day)
SHOW CREATE TABLE other;

-- What the statement says itself comes first.
-- keyfold
CREATE TABLE IF NOT EXISTS newest LIKE sums TBLPROPERTIES ('merge-engine' = 'deduplicate', 'bucket' = '1');
-- keyfold
INSERT INTO newest VALUES (1, DATE '2024-01-02', 1, 'a'), (1, DATE '2024-01-02', 2, 'b');
-- query
SELECT total, name FROM newest;
-- against
SELECT 2L AS total, 'b' AS name;
-- keyfold
CREATE TABLE IF NOT EXISTS newest LIKE other;
-- holds: deduplicate
SHOW TBLPROPERTIES newest;

-- error: already exists
CREATE TABLE other LIKE sums;
-- error: LOCATION
CREATE TABLE elsewhere LIKE sums LOCATION '/tmp/elsewhere';
-- error: USING orc
CREATE TABLE elsewhere LIKE sums USING orc;
-- error: primary key
CREATE TABLE elsewhere LIKE `sums$files`;
