"""Rows that statements changed, as Paimon's own readers see them: at once where the engine keeps
the last record, after a compaction elsewhere.
"""

from pathlib import Path

import pytest

from integration.paimon.bench import Bench
from integration.paimon.library import RefusedByPaimon
from tests import readers


@pytest.mark.parametrize("options", [{}, {"sequence.field": "v"}], ids=["plain", "sequence"])
def test_the_last_record_is_in_paimons_files(
    bench: Bench, warehouse: Path, options: dict[str, str]
) -> None:
    given = {"bucket": "2", "write-only": "true", **options}
    bench.made("k INT, v INT NOT NULL, w STRING, PRIMARY KEY (k) NOT ENFORCED", given)
    bench.insert("SELECT id, id, concat('w', id) FROM range(20)")
    bench.spark.sql(f"UPDATE {bench.name} SET v = v + 1, w = NULL WHERE k % 3 = 0")
    bench.spark.sql(f"DELETE FROM {bench.name} WHERE v % 5 = 0")
    source = "(SELECT id AS k, 100 + id AS v FROM range(19, 22))"
    inserts = "" if options else " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    bench.spark.sql(
        f"MERGE INTO {bench.name} t USING {source} s ON t.k = s.k "
        f"WHEN MATCHED AND s.k = 19 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE{inserts}"
    )
    rows = {k: k for k in range(20)}
    rows = {k: v + (k % 3 == 0) for k, v in rows.items()}
    rows = {k: v for k, v in rows.items() if v % 5} | {19: 119}
    rows |= {} if options else {20: 120, 21: 121}
    found = bench.agree(rows=len(rows))
    assert {row["k"]: row["v"] for row in found} == rows
    table = f"it.{bench.name.rpartition('.')[2]}"
    for read in (readers.read, readers.read_by_rust):
        theirs = read(warehouse, table).select(["k", "v"]).to_pylist()
        assert {row["k"]: row["v"] for row in theirs} == rows, read


def test_other_engines_after_a_compaction(bench: Bench) -> None:
    engine = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    bench.made(
        "k INT, v INT, PRIMARY KEY (k) NOT ENFORCED",
        {"bucket": "1", "write-only": "true", **engine},
    )
    bench.insert("VALUES (1, 1), (2, 2), (3, 3)", "VALUES (1, 1)")
    bench.spark.sql(f"UPDATE {bench.name} SET v = v * 10 WHERE k = 1")
    bench.spark.sql(f"DELETE FROM {bench.name} WHERE k = 2")
    bench.insert("VALUES (1, 1), (2, 5)")
    with pytest.raises(RefusedByPaimon, match="keyfold"):
        bench.agree(rows=3)
    bench.spark.sql(
        f"CALL keyfold.sys.compact(table => '{bench.name}', compact_strategy => 'full')"
    )
    assert {row["k"]: row["v"] for row in bench.agree(rows=3)} == {1: 21, 2: 5, 3: 3}
