"""States in tables that Paimon's Java library and pypaimon use: they refuse the column that merges
states, and carry the states of a copy as bytes, which they read, write and compact.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from integration.paimon.bench import Bench
from integration.paimon.library import RefusedByPaimon
from integration.paimon.library import row as cells
from keyfold.aggregates.states.signature import text_of
from tests import readers

STATES = {"mean": "avg(int)", "seen": "ndv(string)", "words": "group_concat(string)"}
FINALS = "avg_finalize(mean), ndv_finalize(seen), group_concat_finalize(words)"
OF_VALUES = "avg_state({n}), ndv_state('{s}'), group_concat_state('{s}', ';')"


@pytest.fixture
def merging(bench: Bench) -> Bench:
    """A table of states in two runs, whose second merges a key with the first."""
    named = {f"fields.{c}.aggregate-function": "agg_state" for c in STATES}
    named |= {f"fields.{c}.agg-state": text for c, text in STATES.items()}
    named |= {"merge-engine": "aggregation", "write-only": "true", "bucket": "1"}
    columns = ", ".join(f"{column} BINARY" for column in STATES)
    bench.made(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED", named)
    first, second, third = (
        OF_VALUES.format(n=n, s=s) for n, s in ((10, "Ada"), (20, "Bob"), (5, "Eve"))
    )
    return bench.insert(f"VALUES (1, {first}), (2, {second})", f"VALUES (1, {third})")


def test_they_refuse_what_they_would_not_merge(merging: Bench, warehouse: Path) -> None:
    for _ in range(2):
        with pytest.raises(RefusedByPaimon, match="agg_state"):
            merging.paimon.read(merging.folder)
        for read in readers.READERS.values():
            with pytest.raises(readers.Refused, match=r"'agg_state'|aggregate-function"):
                read(warehouse, merging.name.removeprefix("keyfold."))
        merging.spark.sql(f"CALL keyfold.sys.compact('{merging.name}')")
    with pytest.raises(RefusedByPaimon, match="agg_state"):
        merging.paimon.write(merging.folder, [cells("+I", 3, b"", b"", b"")])
    assert merging.spark.table(merging.name).count() == 2


def test_a_copy_has_the_same_states_for_all(merging: Bench, warehouse: Path) -> None:
    """Java writes the state of one key under another, and compacts; to Spark these are bytes."""
    spark, copy = merging.spark, f"{merging.name}_copy"
    columns = ", ".join(f"{column} BINARY" for column in STATES)
    other = Bench(spark, merging.paimon, warehouse, copy)
    other.create(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED", bucket="1")
    other.insert(f"SELECT * FROM {merging.name}")
    stored = other.agree(rows=2)
    for read in readers.READERS.values():
        found = read(warehouse, copy.removeprefix("keyfold.")).to_pylist()
        assert sorted(row["mean"] for row in found) == sorted(row["mean"] for row in stored)
    (one,) = (list(row.values()) for row in stored if row["k"] == 1)
    other.paimon.write(other.folder, [cells("+I", 3, *one[1:])])
    other.paimon.compact(other.folder)
    other.agree(rows=3)
    for column, name in {"mean": "avg(INT)", "words": "group_concat(STRING);separator=;"}.items():
        assert {text_of(bytes(row[column])) for row in spark.table(copy).collect()} == {name}
    with pytest.raises(PySparkException, match="BINARY, and it is not known of which aggregate"):
        spark.sql(f"SELECT avg_finalize(mean) FROM {copy}")
    finals = spark.sql(f"SELECT k, {FINALS} FROM {merging.name} ORDER BY k").collect()
    assert [tuple(row) for row in finals] == [(1, 7.5, 2, "Ada;Eve"), (2, 20.0, 1, "Bob")]
