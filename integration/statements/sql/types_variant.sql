-- VARIANT as a value: stored, read by path, kept by functions that pick, and changed.
CREATE TABLE t (id INT, v VARIANT, several ARRAY<VARIANT>, held STRUCT<x: VARIANT, n: INT>,
  PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO t SELECT 1, parse_json('{"a": {"b": [1, 2.5, "x"]}, "s": "Grüße"}'),
  array(parse_json('1'), NULL, parse_json('null')), named_struct('x', parse_json('"y"'), 'n', 1);
INSERT INTO t SELECT 2, parse_json('[true, null]'), array(), NULL;
INSERT INTO t (id) VALUES (3);
-- query
SELECT id, to_json(v), to_json(several), to_json(held) FROM t;
-- query
SELECT id, variant_get(v, '$.a.b[1]', 'double'), v:s::string, try_variant_get(v, '$[0]', 'boolean'), v IS NULL FROM t;
-- query
SELECT id FROM t WHERE v:s::string = 'Grüße';
-- query
SELECT id, held.n, to_json(held.x), schema_of_variant(v), size(several) FROM t;
-- query
SELECT count(*), count(v) FROM t WHERE v IS NOT NULL;
-- keyfold
UPDATE t SET v = parse_json('{"a": 7}') WHERE id = 3;
-- keyfold
MERGE INTO t USING (SELECT 2 AS id, parse_json('{"s": "merged"}') AS v) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET t.v = s.v;
-- holds: 3 | {"a":7}
SELECT id, to_json(v) FROM t WHERE id = 3;
-- holds: merged | []
SELECT v:s::string, to_json(several) FROM t WHERE id = 2;
-- keyfold
ALTER TABLE t ADD COLUMN later VARIANT;
-- holds: 3 | NULL
SELECT count(*), coalesce(to_json(max_by(later, id)), 'NULL') FROM t;
-- keyfold
CREATE TABLE g (id INT, last VARIANT, first VARIANT, n INT, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.last.aggregate-function' = 'last_non_null_value',
  'fields.first.aggregate-function' = 'first_value', 'fields.n.aggregate-function' = 'sum');
-- keyfold
INSERT INTO g SELECT 1, parse_json('{"n": 1}'), parse_json('"one"'), 1;
-- keyfold
INSERT INTO g SELECT 1, parse_json('{"n": 2}'), parse_json('"two"'), 2;
-- keyfold
INSERT INTO g VALUES (1, NULL, NULL, 4);
-- holds: 2 | one | 7
SELECT last:n::int, first::string, n FROM g;
