"""Metadata gone wrong at random: a bounded part of `python -m tests.storage.metadata_fuzz`."""

from tests.concurrency.processes import elsewhere
from tests.storage import metadata_fuzz

INPUTS = 120


def test_statements_on_metadata_gone_wrong(seed: int) -> None:
    """Reproduced by `python -m tests.storage.metadata_fuzz --seed … --first … --inputs 1`."""
    found = elsewhere(metadata_fuzz.process, seed, range(INPUTS))  # it forks: from one thread
    assert found.findings == []
    assert sum(found.outcomes.values()) == 3 * INPUTS
    for statement in metadata_fuzz.STATEMENTS:
        assert found.outcomes[f"{statement}: answered"], "nothing came of it ever"
