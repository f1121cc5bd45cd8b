"""A process that reads a table again and again, each time with one wrong bit in one of its files.

What Arrow does with broken bytes may end the process: it is not that of the tests, and tells before
each read which bit is wrong.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyfold.errors import KeyfoldError
from tests.concurrency import jobs
from tests.concurrency.processes import elsewhere
from tests.storage import damaged


@dataclass(frozen=True)
class Outcome:
    """What became of the reads: how many were refused, by class, and how many gave other rows."""

    refused: dict[str, int]
    others: int


def flip(folder: str, kind: str, wrong: Sequence[tuple[int, int]]) -> Outcome:
    """Reads with one wrong bit each, given as byte and bit, in the file of a kind; AssertionError
    that names the bit where a read fails without an error of ours, or ends its process.
    """
    said = Path(folder) / "flipped"
    try:
        found: Outcome = elsewhere(_flips, folder, kind, wrong, said)
    except EOFError:
        raise AssertionError(f"a read ended its process: {said.read_text()}") from None
    return found


def drawn(seed: int, size: int, times: int) -> list[tuple[int, int]]:
    """Bits of a file of that size."""
    draw = random.Random(seed)
    return [(draw.randrange(size), draw.randrange(8)) for _ in range(times)]


def _flips(folder: str, kind: str, wrong: Sequence[tuple[int, int]], said: Path) -> Outcome:
    expected = _read(folder)
    path = damaged.path_of(jobs.table_of(folder), kind)
    good = path.read_bytes()
    refused: dict[str, int] = {}
    others = 0
    for place, bit in wrong:
        told = f"bit {bit} of byte {place} of the {kind}, {len(good)} bytes"
        said.write_text(told)
        bad = bytearray(good)
        bad[place] ^= 1 << bit
        path.write_bytes(bad)
        damaged.forget()
        try:
            others += _read(folder) != expected
        except KeyfoldError as error:
            name = type(error).__name__
            refused[name] = refused.get(name, 0) + 1
        except Exception as error:
            raise AssertionError(f"{told}: {error!r}") from error
    path.write_bytes(good)
    return Outcome(refused, others)


def _read(folder: str) -> dict[int, Any]:
    return jobs.rows_of(jobs.table_of(folder))
