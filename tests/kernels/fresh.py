"""Processes that have loaded numba and Arrow, and nothing of keyfold: each is forked from one that
has compiled a function, in place of two seconds of imports.

A program finds the package by its PYTHONPATH, and compiles for the processor at hand: what numba
reads from the environment as it is imported is that of the tests.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]


class Fresh:
    """The process that is forked."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def run(self, program: str, environment: Mapping[str, str]) -> str:
        """What a program prints in a new process; AssertionError with what it says if it fails."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([program, dict(environment)]) + "\n")
        self.process.stdin.flush()
        code, out, error = json.loads(self.process.stdout.readline())
        assert code == 0, error
        return str(out)


@contextmanager
def running() -> Iterator[Fresh]:
    """It, where a warning is an error."""
    command = [sys.executable, "-W", "error", "-m", "tests.kernels.fresh"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        yield Fresh(process)
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    """Fork a process for each line of stdin, one after the other, until it ends."""
    import numba  # noqa: PLC0415 - tests import this module and have it loaded already
    import pyarrow as pa  # noqa: PLC0415

    def loop(values: Any, out: Any) -> int:
        found = 0
        for row in range(len(values)):
            if row == 0 or values[row] != values[row - 1]:
                out[found] = row
                found += 1
        return found

    numba.njit("int64(uint64[::1], int64[::1])", nogil=True, _nrt=False)(loop)
    pa.array([1])
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_ran(*json.loads(line))), flush=True)


def _ran(program: str, environment: dict[str, str]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(error.fileno(), 2)
            _become(program, environment)
        _, status = os.waitpid(child, 0)
        said = []
        for file in (out, error):
            file.seek(0)
            said.append(file.read().decode())
    return os.waitstatus_to_exitcode(status), said[0], said[1]


def _become(program: str, environment: dict[str, str]) -> NoReturn:
    code = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
        exec(program, {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
