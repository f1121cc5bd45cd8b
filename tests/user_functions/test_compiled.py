"""Users' functions in the kernel cache: what makes two of them one, and who compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest

import keyfold
from keyfold.testing import check
from keyfold.user_functions.fingerprint import fingerprint
from tests.kernels.fresh import Fresh, running

HELPED = """
import numpy as np, math, numba
LIMIT = {limit}
TABLE = np.array([1, 2, {limit}])
@numba.njit
def helper(value):
    return value + {inner} + TABLE[0]
def made(extra):
    def step(accumulator, value):
        return helper(accumulator) + math.floor(value) + LIMIT + extra {tail}
    return step
step = made({closed})
"""
PLAIN = {"limit": 1, "inner": 2, "closed": 3, "tail": ""}


def function(**changed: Any) -> FunctionType:
    space: dict[str, Any] = {}
    exec(HELPED.format(**PLAIN | changed), space)
    found: FunctionType = space["step"]
    return found


@pytest.mark.parametrize("changed", [{"limit": 7}, {"inner": 7}, {"closed": 7}, {"tail": "+ 0"}])
def test_whatever_a_function_uses_counts(changed: dict[str, object]) -> None:
    assert fingerprint(function()) == fingerprint(function())
    assert fingerprint(function(**changed)) not in (None, fingerprint(function()))


def test_options_of_a_compiled_helper_count() -> None:
    def plain(value: int) -> int:
        return value

    fast, slow = numba.njit(fastmath=True)(plain), numba.njit(plain)
    assert fingerprint(fast) != fingerprint(slow) != fingerprint(plain)


def test_what_can_not_be_told_is_not_kept() -> None:
    thing = object()

    def uses(value: int) -> Any:
        return thing, value

    assert fingerprint(uses) is None
    objects = np.array([thing])
    assert fingerprint(lambda: objects) is None


def test_a_field_with_the_name_of_a_global_does_not_count() -> None:
    space: dict[str, Any] = {"total": object()}
    exec("def step(kept, value):\n    return kept.total + value.total\n", space)
    assert fingerprint(space["step"]) is not None


def test_recursive_and_shared_globals_end() -> None:
    space: dict[str, Any] = {}
    exec("def a(n):\n    return b(n - 1) if n else 0\ndef b(n):\n    return a(n)\n", space)
    assert fingerprint(space["a"], space["b"]) is not None


def test_fields_in_another_order_are_other_code() -> None:
    for order in (["low", "high"], ["high", "low"]):
        one = keyfold.aggregate.pick(dict.fromkeys(order, "BIGINT"), name="lowest")(lower)
        check(one, rounds=20)


def lower(best: Any, row: Any) -> bool:
    return bool(row.low < best.low)


PROGRAM = """
import sys
import numpy as np, pyarrow as pa
import keyfold
from keyfold.types import paimon
from keyfold.aggregates.declaration import Inputs
from keyfold.user_functions.decorators import aggregate_of
import own
bound = aggregate_of(own.step).bind({}, paimon.from_paimon("BIGINT"))
rows = np.arange(3)
inputs = Inputs(pa.array([1, 2, 3]), np.ones(3, np.int8), rows, np.array([0, 3]))
loop = bound.fold.args[0].loop
print(bound.fold(inputs).array[0].as_py(), sum(loop.stats.cache_hits.values()))
"""
MODULE = """
import numba, keyfold
@numba.njit
def helper(value):
    return value * {factor}
@keyfold.aggregate("BIGINT")
def step(accumulator, value):
    return accumulator + helper(value)
"""


@pytest.fixture(scope="module")
def fresh() -> Iterator[Fresh]:
    """New processes."""
    with running() as started:
        yield started


def known(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps what it compiles, and finds modules, in a folder."""
    package = Path(keyfold.__file__).resolve().parent.parent
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(package), str(folder)]),
        "KEYFOLD_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_processes_share_what_one_compiled_and_never_a_stale_one(
    fresh: Fresh, tmp_path: Path
) -> None:
    def write(factor: int) -> None:
        (tmp_path / "own.py").write_text(MODULE.format(factor=factor))

    def run(factor: int) -> str:
        write(factor)
        return fresh.run(PROGRAM, known(tmp_path)).strip()

    write(1)
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=known(tmp_path), stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    assert sorted(process.communicate()[0].strip() for process in racing) == ["6 0", "6 1"]
    assert run(1) == "6 1"
    assert run(10) == "51 0", "an edited helper of another line is compiled anew"
    assert run(1) == "6 1"


def test_two_versions_loaded_in_one_process_stay_apart(fresh: Fresh, tmp_path: Path) -> None:
    """Each was compiled first in a process of its own, so numba counted them alike."""
    for factor in (1, 10):
        (tmp_path / f"own{factor}").mkdir()
        (tmp_path / f"own{factor}" / "own.py").write_text(MODULE.format(factor=factor))

    def run(*factors: int) -> str:
        program = PROGRAM.replace("import own\n", "").replace("bound =", "def run(own):\n bound =")
        program = program.replace("\nrows", "\n rows").replace("\ninputs", "\n inputs")
        program = program.replace("\nloop", "\n loop").replace("\nprint", "\n print")
        for factor in factors:
            program += (
                f"sys.path.insert(0, {str(tmp_path / f'own{factor}')!r})\nimport own\nrun(own)\n"
            )
            program += "del sys.modules['own']\n"
        return fresh.run(program, known(tmp_path))

    assert run(1) == "6 0\n"
    assert run(10) == "51 0\n"
    assert run(1, 10, 1) == "6 1\n51 1\n6 1\n"
