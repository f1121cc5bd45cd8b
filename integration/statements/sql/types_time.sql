-- TIME as value and as key. Spark has the type behind a setting, and compares equal precisions only. Its tables take a
-- time of more digits than the column in 4.2 alone; ours take the times of VALUES, as they are written.
SET spark.sql.timeType.enabled = true;
CREATE TABLE t (id INT, t TIME(3), s TIME(0), several ARRAY<TIME(3)>, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t VALUES (1, CAST('00:00:00' AS TIME(3)), CAST('01:02:03' AS TIME(0)), array(CAST('12:00:00' AS TIME(3)), NULL)),
  (2, CAST('23:59:59.999' AS TIME(3)), CAST('23:59:59' AS TIME(0)), array());
INSERT INTO t VALUES (3, CAST('06:30:00.5' AS TIME(3)), CAST('01:02:03' AS TIME(0)), NULL);
INSERT INTO t (id) VALUES (4);
INSERT INTO t VALUES (5, CAST(TIME '06:30:00.123456' AS TIME(3)), CAST(TIME '12:00:00.9' AS TIME(0)),
  array(CAST(TIME '01:00:00.001999' AS TIME(3))));
-- query
SELECT id, t, s, several FROM t;
-- query
SELECT id FROM t WHERE t > CAST('06:30:00.123' AS TIME(3));
-- query
SELECT id FROM t WHERE t IN (CAST('06:30:00.123' AS TIME(3)), CAST('00:00:00' AS TIME(3))) OR t IS NULL;
-- query
SELECT id FROM t WHERE s <= CAST('12:00:00' AS TIME(0)) AND NOT t = CAST('00:00:00' AS TIME(3));
-- query
SELECT min(t), max(t), min(s), count(t), count(DISTINCT s) FROM t;
-- query
SELECT s, max(t), count(*) FROM t GROUP BY s;
-- query
SELECT id, hour(t), minute(t), CAST(t AS STRING), CAST(s AS TIME(6)) FROM t;
-- query ordered
SELECT id, t FROM t ORDER BY t DESC NULLS LAST LIMIT 3;
CREATE TABLE k (t TIME(3), v INT, PRIMARY KEY (t) NOT ENFORCED);
INSERT INTO k SELECT CAST(concat(id, ':30:00.25') AS TIME(3)), id FROM range(24);
-- query
SELECT t, v FROM k;
-- query
SELECT v FROM k WHERE t = CAST('06:30:00.250' AS TIME(3));
-- query
SELECT v FROM k WHERE t IN (CAST('23:30:00.250' AS TIME(3)), CAST('07:30:00.250' AS TIME(3)));
-- keyfold
INSERT INTO k VALUES (TIME '06:30:00.250999', 100);
-- keyfold
UPDATE k SET v = v + 1 WHERE t = CAST('06:30:00.25' AS TIME(3));
-- keyfold
INSERT INTO k VALUES (CAST('07:30:00.250999' AS TIME(3)), 200);
-- holds: 2424 | 101 | 200
SELECT count(*) * 100 + count(DISTINCT t), max(IF(hour(t) = 6, v, 0)), max(v) FROM k;
-- error: column v | TIME(6) | TIME(3)
CREATE TABLE d (id INT, v TIME, PRIMARY KEY (id) NOT ENFORCED);
-- error: partition column t | TIME(3)
CREATE TABLE p (t TIME(3), v INT, PRIMARY KEY (t) NOT ENFORCED) PARTITIONED BY (t);
-- keyfold
CREATE TABLE n (id INT, t TIME(3) DEFAULT TIME '09:00:00', PRIMARY KEY (id) NOT ENFORCED);
-- keyfold
INSERT INTO n (id) VALUES (1);
-- keyfold
ALTER TABLE n ADD COLUMN u TIME(0) DEFAULT TIME '10:00:00';
-- keyfold
INSERT INTO n VALUES (2, TIME '11:00:00', NULL);
-- holds: 09:00:00 | 10:00:00 | 11:00:00
SELECT id, t, u FROM n;
