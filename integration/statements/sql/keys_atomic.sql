-- Every atomic type as a key: rows are found by it, and replaced by it.

CREATE TABLE k_boolean (k BOOLEAN, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_boolean VALUES (true, 0), (false, 1);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_boolean;
-- query
SELECT v FROM k_boolean WHERE k = false;
-- query
SELECT v FROM k_boolean WHERE k >= false OR k IN (true, false);
-- keyfold
INSERT INTO k_boolean VALUES (true, 10), (false, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_boolean;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_boolean;

CREATE TABLE k_tinyint (k TINYINT, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_tinyint VALUES (-128Y, 0), (-1Y, 1), (0Y, 2), (127Y, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_tinyint;
-- query
SELECT v FROM k_tinyint WHERE k = -1Y;
-- query
SELECT v FROM k_tinyint WHERE k >= -1Y OR k IN (-128Y, 127Y);
-- keyfold
INSERT INTO k_tinyint VALUES (-128Y, 10), (-1Y, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_tinyint;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_tinyint;

CREATE TABLE k_smallint (k SMALLINT, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_smallint VALUES (-32768S, 0), (-1S, 1), (0S, 2), (300S, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_smallint;
-- query
SELECT v FROM k_smallint WHERE k = -1S;
-- query
SELECT v FROM k_smallint WHERE k >= -1S OR k IN (-32768S, 300S);
-- keyfold
INSERT INTO k_smallint VALUES (-32768S, 10), (-1S, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_smallint;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_smallint;

CREATE TABLE k_int (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_int VALUES (-2147483648, 0), (-1, 1), (0, 2), (2147483647, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_int;
-- query
SELECT v FROM k_int WHERE k = -1;
-- query
SELECT v FROM k_int WHERE k >= -1 OR k IN (-2147483648, 2147483647);
-- keyfold
INSERT INTO k_int VALUES (-2147483648, 10), (-1, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_int;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_int;

CREATE TABLE k_bigint (k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_bigint VALUES (-9223372036854775808L, 0), (-1L, 1), (0L, 2), (9223372036854775807L, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_bigint;
-- query
SELECT v FROM k_bigint WHERE k = -1L;
-- query
SELECT v FROM k_bigint WHERE k >= -1L OR k IN (-9223372036854775808L, 9223372036854775807L);
-- keyfold
INSERT INTO k_bigint VALUES (-9223372036854775808L, 10), (-1L, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_bigint;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_bigint;

CREATE TABLE k_float (k FLOAT, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_float VALUES (-1.5F, 0), (0.0F, 1), (1.5F, 2), (CAST('NaN' AS FLOAT), 3), (CAST('-Infinity' AS FLOAT), 4);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_float;
-- query
SELECT v FROM k_float WHERE k = 0.0F;
-- query
SELECT v FROM k_float WHERE k >= 0.0F OR k IN (-1.5F, CAST('-Infinity' AS FLOAT));
-- keyfold
INSERT INTO k_float VALUES (-1.5F, 10), (0.0F, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_float;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_float;

CREATE TABLE k_double (k DOUBLE, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_double VALUES (-1.5D, 0), (0.0D, 1), (1.5D, 2), (CAST('NaN' AS DOUBLE), 3), (CAST('Infinity' AS DOUBLE), 4);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_double;
-- query
SELECT v FROM k_double WHERE k = 0.0D;
-- query
SELECT v FROM k_double WHERE k >= 0.0D OR k IN (-1.5D, CAST('Infinity' AS DOUBLE));
-- keyfold
INSERT INTO k_double VALUES (-1.5D, 10), (0.0D, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_double;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_double;

CREATE TABLE k_narrow (k DECIMAL(10, 2), v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_narrow VALUES (-1.50, 0), (0.00, 1), (1.50, 2), (99999999.99, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_narrow;
-- query
SELECT v FROM k_narrow WHERE k = 0.00;
-- query
SELECT v FROM k_narrow WHERE k >= 0.00 OR k IN (-1.50, 99999999.99);
-- keyfold
INSERT INTO k_narrow VALUES (-1.50, 10), (0.00, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_narrow;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_narrow;

CREATE TABLE k_wide (k DECIMAL(38, 4), v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_wide VALUES (-9999999999999999999999999999999999.9999, 0), (0.0000, 1), (1.5000, 2), (9999999999999999999999999999999999.9999, 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_wide;
-- query
SELECT v FROM k_wide WHERE k = 0.0000;
-- query
SELECT v FROM k_wide WHERE k >= 0.0000 OR k IN (-9999999999999999999999999999999999.9999, 9999999999999999999999999999999999.9999);
-- keyfold
INSERT INTO k_wide VALUES (-9999999999999999999999999999999999.9999, 10), (0.0000, 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_wide;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_wide;

CREATE TABLE k_string (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_string VALUES ('', 0), ('a', 1), ('abcdefgh', 2), ('abcdefghi', 3), ('é', 4), ('世界 🌍', 5);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_string;
-- query
SELECT v FROM k_string WHERE k = 'a';
-- query
SELECT v FROM k_string WHERE k >= 'a' OR k IN ('', '世界 🌍');
-- keyfold
INSERT INTO k_string VALUES ('', 10), ('a', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_string;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_string;

CREATE TABLE k_char (k CHAR(4), v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_char VALUES ('a', 0), ('ab', 1), ('abcd', 2);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_char;
-- query
SELECT v FROM k_char WHERE k = 'ab';
-- query
SELECT v FROM k_char WHERE k >= 'ab' OR k IN ('a', 'abcd');
-- keyfold
INSERT INTO k_char VALUES ('a', 10), ('ab', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_char;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_char;

CREATE TABLE k_varchar (k VARCHAR(12), v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_varchar VALUES ('', 0), ('a', 1), ('abcdefghijkl', 2);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_varchar;
-- query
SELECT v FROM k_varchar WHERE k = 'a';
-- query
SELECT v FROM k_varchar WHERE k >= 'a' OR k IN ('', 'abcdefghijkl');
-- keyfold
INSERT INTO k_varchar VALUES ('', 10), ('a', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_varchar;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_varchar;

CREATE TABLE k_binary (k BINARY, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_binary VALUES (X'', 0), (X'00', 1), (X'0001', 2), (X'FF', 3), (X'0102030405060708090A', 4);
-- query
SELECT hex(k) AS k, v FROM k_binary;
-- query
SELECT v FROM k_binary WHERE k = X'00';
-- query
SELECT v FROM k_binary WHERE k >= X'00' OR k IN (X'', X'0102030405060708090A');
-- keyfold
INSERT INTO k_binary VALUES (X'', 10), (X'00', 11);
-- query
SELECT hex(k) AS k, v FROM k_binary;
-- against
SELECT hex(k) AS k, IF(v < 2, v + 10, v) AS v FROM k_binary;

CREATE TABLE k_date (k DATE, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_date VALUES (DATE '0001-01-01', 0), (DATE '1969-12-31', 1), (DATE '1970-01-01', 2), (DATE '2024-02-29', 3);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_date;
-- query
SELECT v FROM k_date WHERE k = DATE '1969-12-31';
-- query
SELECT v FROM k_date WHERE k >= DATE '1969-12-31' OR k IN (DATE '0001-01-01', DATE '2024-02-29');
-- keyfold
INSERT INTO k_date VALUES (DATE '0001-01-01', 10), (DATE '1969-12-31', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_date;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_date;

CREATE TABLE k_timestamp (k TIMESTAMP, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_timestamp VALUES (TIMESTAMP '0001-01-01 00:00:00', 0), (TIMESTAMP '1969-12-31 23:59:59.999999', 1), (TIMESTAMP '2024-01-01 00:00:00.000001', 2);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_timestamp;
-- query
SELECT v FROM k_timestamp WHERE k = TIMESTAMP '1969-12-31 23:59:59.999999';
-- query
SELECT v FROM k_timestamp WHERE k >= TIMESTAMP '1969-12-31 23:59:59.999999' OR k IN (TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP '2024-01-01 00:00:00.000001');
-- keyfold
INSERT INTO k_timestamp VALUES (TIMESTAMP '0001-01-01 00:00:00', 10), (TIMESTAMP '1969-12-31 23:59:59.999999', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_timestamp;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_timestamp;

CREATE TABLE k_timestamp_ntz (k TIMESTAMP_NTZ, v INT, PRIMARY KEY (k) NOT ENFORCED);
INSERT INTO k_timestamp_ntz VALUES (TIMESTAMP_NTZ '0001-01-01 00:00:00', 0), (TIMESTAMP_NTZ '1969-12-31 23:59:59.999999', 1), (TIMESTAMP_NTZ '2024-01-01 00:00:00.000001', 2);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_timestamp_ntz;
-- query
SELECT v FROM k_timestamp_ntz WHERE k = TIMESTAMP_NTZ '1969-12-31 23:59:59.999999';
-- query
SELECT v FROM k_timestamp_ntz WHERE k >= TIMESTAMP_NTZ '1969-12-31 23:59:59.999999' OR k IN (TIMESTAMP_NTZ '0001-01-01 00:00:00', TIMESTAMP_NTZ '2024-01-01 00:00:00.000001');
-- keyfold
INSERT INTO k_timestamp_ntz VALUES (TIMESTAMP_NTZ '0001-01-01 00:00:00', 10), (TIMESTAMP_NTZ '1969-12-31 23:59:59.999999', 11);
-- query
SELECT CAST(k AS STRING) AS k, v FROM k_timestamp_ntz;
-- against
SELECT CAST(k AS STRING) AS k, IF(v < 2, v + 10, v) AS v FROM k_timestamp_ntz;
