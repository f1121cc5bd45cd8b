"""keyfold, pypaimon and Paimon's Java library write, alter, compact and read one table in turn:
random tables of every engine, told by their seeds. All read the same rows.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.cluster.sharing import Sharing
from integration.faults import histories
from integration.faults.histories import ENGINES, history
from integration.paimon.bench import in_order
from integration.paimon.library import Paimon
from integration.paimon.sides import Keyfold, KeyfoldInSpark

SEEDS = (0, 2, 5)  # of which come all functions and types


@pytest.fixture(scope="module")
def sharing(paimon: Paimon, tmp_path_factory: pytest.TempPathFactory) -> Sharing:
    """Three sides in a warehouse of their own."""
    return Sharing(Keyfold(tmp_path_factory.mktemp("shared")), paimon)


@pytest.fixture(scope="module")
def with_spark(spark: SparkSession, warehouse: Path, paimon: Paimon) -> Sharing:
    """The same, keyfold in Spark, which pads CHAR when it reads."""
    return Sharing(KeyfoldInSpark(spark, warehouse), paimon, padded="STRING")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_histories(sharing: Sharing, engine: str, seed: int) -> None:
    sharing.run(str(seed), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_histories_through_spark(with_spark: Sharing, engine: str) -> None:
    with_spark.run("spark", engine)


@pytest.mark.parametrize("seed", range(4))
def test_deletes_of_pypaimon(sharing: Sharing, seed: int) -> None:
    """It stores them with a delete count of 0: keyfold looks at the files."""
    told = history(f"only {seed}", "deletes")
    name, keyfold = told.shape.name, sharing.sides["keyfold"]
    assert isinstance(keyfold, Keyfold)
    sharing.sides["pypaimon"].create(told.shape)
    layout = keyfold.table(name).layout
    for side in ("pypaimon", "keyfold", "pypaimon"):
        rows = told.job(20, (0, 2, 1, 3), distinct=True)
        sharing.sides[side].write(layout, name, rows)
        told.rows += rows
        right = in_order(told.folded(layout))
        assert in_order(keyfold.read(layout, name)) == right
    for _ in range(2):
        keyfold.compact(name, full=True)
        assert in_order(keyfold.read(layout, name)) == right


def test_all_functions_and_types_are_drawn() -> None:
    told = [history(str(seed), engine) for seed in (*SEEDS, "spark") for engine in ENGINES]
    assert {one for each in told for one in each.functions.values()} == {*histories.FUNCTIONS}
    kinds = [kind for each in told for kind in each.shape.columns.values()]
    for kind in (*histories.KEYS, *histories.FOREIGN, *histories.NESTED):
        assert kind in kinds, kind


def test_all_sides_took_part(sharing: Sharing) -> None:
    for seed in range(100, 102):
        sharing.run(str(seed), "deduplicate")
    taken = {what for what in sharing.done if not what.endswith("refused")}
    everyone = {f"{side} {do}" for side in sharing.sides for do in ("read", "write", "add")}
    assert taken >= everyone | {"keyfold compact", "java compact"}
