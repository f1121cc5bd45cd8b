"""Random statements of all kinds on every engine, against dictionaries, with compactions anywhere;
all kept snapshots, tags and branches show what they must.

KEYFOLD_MACHINE_SECONDS goes on for so long, over many seeds; a failure names its own.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.machine.direct import Direct
from tests.machine.model import ENGINES
from tests.machine.steps import Machine

STEPS = 25


@pytest.mark.parametrize("engine", ENGINES)
def test_random_statements(tmp_path: Path, engine: str, seed: int) -> None:
    end = time.monotonic() + float(os.environ.get("KEYFOLD_MACHINE_SECONDS", "0"))
    number = 0
    while number == 0 or time.monotonic() < end:
        told = f"{engine} {seed} {number}"
        draw = Random(told)
        options = {"write-only": draw.choice(["true", "false"])}
        driver = Direct(str(tmp_path / str(number)), engine, options)
        machine = Machine(driver, engine, draw)
        try:
            machine.run(STEPS)
        except Exception as error:
            error.add_note(f"seed {told}, {options}:\n" + "\n".join(machine.log))
            raise
        number += 1
