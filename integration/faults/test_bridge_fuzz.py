"""A bounded part of `python -m integration.faults.bridge_fuzz`: damaged answers in the JVM."""

from __future__ import annotations

from integration.faults import bridge_fuzz
from integration.faults.processes import DEADLINE

INPUTS = 3_000


def test_damaged_answers_are_refused(seed: int) -> None:
    """Reproduced by `python -m integration.faults.bridge_fuzz --seed … --first … --inputs 1`."""
    said = bridge_fuzz.run(INPUTS, seed, timeout=DEADLINE)
    assert "FINDING" not in said, said
    counts = dict(reversed(line.split(" ", 1)) for line in said.splitlines() if line[:1].isdigit())
    assert int(counts["answered"]) > 0, "what is not damaged is answered"
    assert int(counts["refused, EnvironmentMismatchError"]) > 0, said
    assert int(counts["refused, WorkerDied"]) > 0, said
