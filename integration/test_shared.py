"""keyfold, pypaimon and Paimon's Java library write, alter, compact and read one table in turn:
random tables of every engine, told by their seeds. All read the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.histories import ENGINES
from integration.paimon_java import Paimon
from integration.sharing import Sharing

SEEDS = 6


@pytest.fixture(scope="module")
def sharing(paimon: Paimon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sharing]:
    """Three sides in a warehouse of their own."""
    return Sharing(tmp_path_factory.mktemp("shared"), paimon)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("engine", ENGINES)
def test_histories(sharing: Sharing, engine: str, seed: int) -> None:
    sharing.run(str(seed), engine)


def test_all_sides_took_part(sharing: Sharing, tmp_path: Path) -> None:
    for seed in range(100, 104):
        sharing.run(str(seed), "deduplicate")
    taken = {what for what in sharing.done if not what.endswith("refused")}
    everyone = {f"{side} {do}" for side in sharing.sides for do in ("read", "write", "add")}
    assert taken >= everyone | {"keyfold compact", "java compact"}
