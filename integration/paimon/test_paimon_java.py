"""Paimon's own Java library reads what keyfold wrote: same rows, or it refuses where it must."""

from __future__ import annotations

import pytest
from pyroaring import BitMap, BitMap64

import keyfold
from integration.paimon.bench import Bench, decoded, hll, sql, theta
from integration.paimon.library import RefusedByPaimon
from integration.paimon.test_other_readers import TYPES
from keyfold.kernels.roaring import bitmaps


@pytest.mark.usefixtures("has_times")
def test_every_type(bench: Bench) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in TYPES.items())
    one = ", ".join(one for _, one, _ in TYPES.values())
    other = ", ".join(other for _, _, other in TYPES.values())
    nulls = ", ".join("NULL" for _ in TYPES)
    bench.create(f"id INT, {columns}, PRIMARY KEY (id) NOT ENFORCED")
    bench.insert(f"VALUES (1, {one}), (2, {one}), (3, {nulls})", f"VALUES (2, {other})")
    bench.agree(rows=3)


def test_every_encoding(bench: Bench) -> None:
    """As many rows as make a writer try encodings and codecs on a sample."""
    rows = 20_000
    bench.create(
        "k STRING, letters STRING, few STRING, real DOUBLE, cents DOUBLE, number BIGINT, "
        "price DECIMAL(10, 2), list ARRAY<INT>, PRIMARY KEY (k) NOT ENFORCED",
        bucket="1",
    )
    bench.insert(
        "SELECT format_string('customer-%09d', id), substr(sha2(string(id), 256), 1, 11), "
        "concat('state ', id % 5), rand(1), (id % 400) / 100D, "
        "CAST(rand(2) * (1L << 50) AS BIGINT), "
        "CAST(rand(3) * 1000 AS DECIMAL(10, 2)), array(CAST(id % 9 AS INT)) "
        f"FROM range({rows})"
    )
    bench.agree(rows=rows)


def test_several_keys_partitions_and_buckets(bench: Bench) -> None:
    bench.create(
        "v STRING, b STRING, day DATE, a INT, op STRING, PRIMARY KEY (a, day, b) NOT ENFORCED",
        partitions="day",
        rowkind__field="op",
        bucket="3",
    )
    for job in range(2):
        bench.insert(
            f"SELECT concat('v', id, '.{job}'), concat('b', id % 7), "
            "date_add(DATE '2024-01-01', CAST(id % 3 AS INT)), CAST(id AS INT), "
            f"IF(id % 5 = {job}, '-D', '+I') FROM range({job * 10}, 60)"
        )
    # job 1 takes each row of job 0 over but ids 0 to 9, of which 0 and 5 were deletes
    bench.agree(rows=8 + 40)


def test_sequence_field_and_deletes(bench: Bench) -> None:
    bench.create(
        "k STRING, s INT, v STRING, op STRING, PRIMARY KEY (k) NOT ENFORCED",
        sequence__field="s",
        rowkind__field="op",
    )
    bench.insert(
        "VALUES ('late', 9, 'a', '+I'), ('gone', 1, 'b', '+I'), ('kept', 5, 'c', '+I'), "
        "('none', NULL, 'd', '+I')",
        "VALUES ('late', 3, 'x', '+I'), ('gone', 2, 'x', '-D'), ('kept', 4, 'x', '-D'), "
        "('none', 0, 'y', '+I')",
        "VALUES ('tie', 1, 'first', '+I')",
        "VALUES ('tie', 1, 'second', '+I')",
    )
    expected = {"late": "a", "kept": "c", "none": "y", "tie": "second"}
    assert {r["k"]: r["v"] for r in bench.agree(rows=4)} == expected
    bench.spark.sql(f"CALL keyfold.sys.compact('{bench.name.split('.', 1)[1]}')")
    # the highest level holds the delete of 'gone', which hides what is late
    bench.insert("VALUES ('gone', 1, 'late', '+I')")
    assert {r["k"]: r["v"] for r in bench.agree(rows=4)} == expected


def test_nullable_keys(bench: Bench) -> None:
    bench.create("a INT, b STRING, v INT, PRIMARY KEY (a, b) NOT ENFORCED")
    with pytest.raises(Exception, match=r"(?i)null"):
        bench.insert("VALUES (1, CAST(NULL AS STRING), 1)")
    bench.insert("VALUES (1, '', 1)", "VALUES (1, '', 2)")
    bench.agree(rows=1)


def test_partial_update_with_sequence_groups(bench: Bench) -> None:
    bench.made(
        "k INT, a INT, s1 INT, b INT, c BIGINT, s2 INT, s3 STRING, d STRING, "
        "PRIMARY KEY (k) NOT ENFORCED",
        {
            "merge-engine": "partial-update",
            "fields.s1.sequence-group": "b",
            "fields.s2,s3.sequence-group": "c",
            "fields.c.aggregate-function": "sum",
        },
    )
    bench.insert(
        "VALUES (1, 1, 5, 1, 1, 5, 'm', 'x'), (2, 2, NULL, 7, 2, 1, 'a', NULL)",
        "VALUES (1, NULL, 4, 2, 10, 5, 'a', NULL), (2, NULL, 1, 8, 20, NULL, NULL, 'y')",
        "VALUES (1, NULL, 6, NULL, 100, 6, 'z', NULL)",
    )
    bench.agree(rows=2)


FUNCTIONS = {
    "sum": ("n_sum", "BIGINT", ("5", "NULL", "-7")),
    "product": ("n_product", "BIGINT", ("5", "NULL", "-7")),
    "max": ("top", "STRING", ("'b'", "'ba'", "NULL")),
    "min": ("least", "DATE", ("DATE '2024-01-02'", "DATE '1900-01-01'", "NULL")),
    "last_value": ("lv", "INT", ("1", "2", "NULL")),
    "last_non_null_value": ("lnn", "INT", ("1", "2", "NULL")),
    "first_value": ("fv", "INT", ("1", "NULL", "3")),
    "first_non_null_value": ("fnn", "INT", ("NULL", "2", "3")),
    "bool_and": ("every", "BOOLEAN", ("true", "NULL", "false")),
    "bool_or": ("some", "BOOLEAN", ("false", "NULL", "true")),
    "listagg": ("texts", "STRING", ("'a'", "'b'", "NULL")),
    "collect": ("items", "ARRAY<INT>", ("array(1, 2)", "NULL", "array(2)")),
    "merge_map": (
        "pairs",
        "MAP<STRING, INT>",
        ("map('a', 1, 'b', 2)", "map('b', 3)", "NULL"),
    ),
    "nested_update": (
        "orders",
        "ARRAY<STRUCT<id: INT, v: STRING>>",
        (
            "array(named_struct('id', 1, 'v', 'a'), named_struct('id', 2, 'v', 'b'))",
            "array(named_struct('id', 2, 'v', 'c'))",
            "NULL",
        ),
    ),
    "nested_partial_update": (
        "parts",
        "ARRAY<STRUCT<id: INT, v: STRING, w: INT>>",
        (
            "array(named_struct('id', 1, 'v', 'a', 'w', NULL))",
            "array(named_struct('id', 1, 'v', NULL, 'w', 5))",
            "array(named_struct('id', 2, 'v', 'b', 'w', 6))",
        ),
    ),
    "merge_map_with_keytime": (
        "timed",
        "MAP<STRING, STRUCT<v: INT, ts: STRING>>",
        (
            "map('a', named_struct('v', 1, 'ts', '2'), 'b', named_struct('v', 1, 'ts', '2'))",
            "map('a', named_struct('v', 2, 'ts', '3'), 'b', named_struct('v', 2, 'ts', '1'))",
            "NULL",
        ),
    ),
    "rbm32": (
        "few",
        "BINARY",
        (sql(bitmaps.write32(BitMap([1, 2]))), sql(bitmaps.write32(BitMap([70_000]))), "NULL"),
    ),
    "rbm64": (
        "many",
        "BINARY",
        (sql(bitmaps.write64(BitMap64([5]))), sql(bitmaps.write64(BitMap64([1 << 33]))), "NULL"),
    ),
}
ARGUMENTS = {
    "fields.orders.nested-key": "id",
    "fields.parts.nested-key": "id",
    "fields.texts.list-agg-delimiter": ";",
}


def test_aggregation_by_each_function(bench: Bench) -> None:
    names = {f"fields.{name}.aggregate-function": f for f, (name, _, _) in FUNCTIONS.items()}
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in FUNCTIONS.values())
    bench.made(
        f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED",
        {"merge-engine": "aggregation", **names, **ARGUMENTS},
    )
    for job in range(3):
        cells = ", ".join(cells[job] for _, _, cells in FUNCTIONS.values())
        bench.insert(f"SELECT 1, {cells}")
    merged = bench.agree(rows=1, free=("orders", "parts"))[0]
    assert (merged["n_sum"], merged["n_product"], merged["texts"]) == (-2, -35, "a;b")
    assert set(bitmaps.read64(merged["many"])) == {5, 1 << 33}


def test_sketches(bench: Bench) -> None:
    bench.made(
        "k INT, h BINARY, t BINARY, PRIMARY KEY (k) NOT ENFORCED",
        {
            "merge-engine": "aggregation",
            "fields.h.aggregate-function": "hll_sketch",
            "fields.t.aggregate-function": "theta_sketch",
        },
    )
    for start in (0, 300):
        bench.insert(
            "SELECT 1, hll_sketch_agg(CAST(id AS INT)), theta_sketch_agg(CAST(id AS INT)) "
            f"FROM range({start}, {start + 500})"
        )
    ours = bench.spark.table(bench.name).collect()[0]
    theirs = bench.paimon.read(bench.folder).rows[0]
    for mine, other, estimate in zip(ours[1:], theirs[1:], (hll, theta), strict=True):
        assert estimate(bytes(mine)) == pytest.approx(estimate(decoded(other)))
        assert estimate(bytes(mine)) == pytest.approx(800, rel=0.05)


def test_retractions(bench: Bench) -> None:
    bench.made(
        "k INT, n BIGINT, last STRING, op STRING, PRIMARY KEY (k) NOT ENFORCED",
        {
            "merge-engine": "aggregation",
            "rowkind.field": "op",
            "fields.n.aggregate-function": "sum",
            "fields.op.aggregate-function": "last_value",
        },
    )
    bench.insert(
        "VALUES (1, 5, 'a', '+I'), (2, 1, 'b', '+I')",
        "VALUES (1, 3, 'c', '-D'), (2, 4, 'd', '+U')",
    )
    bench.agree(rows=2)


def test_first_row_is_seen_by_java_once_it_is_compacted(bench: Bench) -> None:
    bench.create(
        "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
        merge_engine="first-row",
        **{"write-only": "true"},  # else the writing job compacts
    )
    bench.insert("VALUES (1, 'a')", "VALUES (1, 'b'), (2, 'c')")
    assert bench.paimon.read(bench.folder).rows == []
    bench.paimon.compact(bench.folder)
    assert {r["k"]: r["v"] for r in bench.agree(rows=2)} == {1: "a", 2: "c"}
    bench.insert("VALUES (1, 'd'), (3, 'e')")
    assert bench.spark.table(bench.name).count() == 3
    assert len(bench.paimon.read(bench.folder).rows) == 2


def test_columns_added_and_widened(bench: Bench) -> None:
    bench.made(
        "k INT, n INT, d DECIMAL(4, 2), PRIMARY KEY (k) NOT ENFORCED",
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    )
    bench.insert("VALUES (1, 2147483647, 1.5), (2, 1, 2.5)")
    bench.alter("ADD COLUMN s STRUCT<a: INT, b: STRING>")
    bench.alter("ALTER COLUMN n TYPE BIGINT").alter("ALTER COLUMN d TYPE DECIMAL(20, 2)")
    bench.insert("VALUES (1, 1, 123456.75, named_struct('a', 1, 'b', 'q'))")
    assert {r["k"]: r["n"] for r in bench.agree(rows=2)} == {1: 2**31, 2: 1}


def test_thin_files(bench: Bench) -> None:
    bench.made(
        "v INT, a STRING, b INT, PRIMARY KEY (b, a) NOT ENFORCED",
        {"data-file.thin-mode": "true"},
    )
    bench.insert("VALUES (1, 'x', 1), (2, 'y', 1)", "VALUES (3, 'y', 1), (4, 'z', 0)")
    bench.agree(rows=3)


def test_functions_that_paimon_lacks_are_refused_by_it(bench: Bench) -> None:
    bench.made(
        "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "count"},
    )
    bench.insert("VALUES (1, 1)", "VALUES (1, 1)")
    assert [tuple(r) for r in bench.spark.table(bench.name).collect()] == [(1, 2)]
    with pytest.raises(RefusedByPaimon, match="count"):
        bench.paimon.read(bench.folder)


@keyfold.aggregate("BIGINT")
def greater_of_both(left, right):
    return max(left, right)


@keyfold.engine({"n": "BIGINT"})
def greatest_n(best, row):
    return row.n > best.n


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "greater_of_both"},
        {"merge-engine": "greatest_n"},
    ],
)
def test_users_functions_and_engines_are_refused_by_it(
    bench: Bench, options: dict[str, str]
) -> None:
    keyfold.register(bench.spark, greater_of_both, greatest_n)
    bench.made("k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED", options)
    bench.insert("VALUES (1, 3)", "VALUES (1, 2)")
    assert [tuple(r) for r in bench.spark.table(bench.name).collect()] == [(1, 3)]
    with pytest.raises(RefusedByPaimon, match=r"greater_of_both|greatest_n"):
        bench.paimon.read(bench.folder)


def test_files_that_overwrite_are_refused_by_it(bench: Bench) -> None:
    bench.made(
        "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    )
    bench.insert("VALUES (1, 3)", "WITH ('merge_mode' = 'overwrite') VALUES (1, 2)")
    assert [tuple(r) for r in bench.spark.table(bench.name).collect()] == [(1, 2)]
    with pytest.raises(RefusedByPaimon, match="keyfold"):
        bench.paimon.read(bench.folder)


def test_files_that_hold_named_columns_are_refused_by_it(bench: Bench) -> None:
    bench.made(
        "k INT, a INT, b INT, PRIMARY KEY (k) NOT ENFORCED",
        {"merge-engine": "aggregation", "fields.a.aggregate-function": "last_value"},
    )
    bench.insert("VALUES (1, 5, 6)")
    bench.agree(rows=1)
    bench.insert("(k, b) VALUES (1, 7)")
    assert [tuple(r) for r in bench.spark.table(bench.name).collect()] == [(1, 5, 7)]
    assert list(bench.folder.rglob("data-*.keyfold"))
    with pytest.raises(RefusedByPaimon, match="keyfold"):
        bench.paimon.read(bench.folder)
