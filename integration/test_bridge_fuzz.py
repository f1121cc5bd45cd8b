"""Damaged answers of a worker in the JVM: a bounded part of `python -m integration.bridge_fuzz`."""

from __future__ import annotations

from integration import bridge_fuzz
from integration.processes import DEADLINE

INPUTS = 3_000


def test_damaged_answers_are_refused(seed: int) -> None:
    """Reproduced by `python -m integration.bridge_fuzz --seed … --first … --inputs 1`."""
    said = bridge_fuzz.run(INPUTS, seed, timeout=DEADLINE)
    assert "FINDING" not in said, said
    counts = dict(reversed(line.split(" ", 1)) for line in said.splitlines() if line[:1].isdigit())
    assert int(counts["answered"]) > 0, "what is not damaged is answered"
    assert int(counts["refused, EnvironmentMismatchError"]) > 0, said
    assert int(counts["refused, WorkerDied"]) > 0, said
