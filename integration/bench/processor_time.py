"""The processor that processes take for a step: one of them, or it and all that it has started."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from integration.faults import processes

Step = Callable[[], Any]


def used(process: int, *, with_ended: bool = False) -> float:
    """The seconds of processor that a process has taken; 0 if it is gone. `with_ended`: and those
    of its children that have ended.
    """
    try:
        fields = (processes.PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / processes.TICKS


def used_by_all() -> float:
    """The seconds that this process and all that it has started have taken, ended ones too."""
    own = os.getpid()
    return sum(used(one, with_ended=True) for one in (own, *processes.descendants(own)))


def measured(
    process: int, steps: Mapping[str, Step], expected: Mapping[str, int]
) -> dict[str, Any]:
    """The seconds of processor of two calls of each step, whose answers are as expected."""
    found: dict[str, Any] = {}
    for name, step in steps.items():
        found[name] = []
        for _ in range(2):
            before = used(process)
            answer = step()
            found[name].append(used(process) - before)
            assert name not in expected or answer == expected[name], (name, answer)
    return found
