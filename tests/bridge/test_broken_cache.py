"""A fork server whose kernel cache is damaged: it starts, and rows come out right."""

import random
import shutil
from pathlib import Path

import pytest

from keyfold.kernels import jit
from tests.bridge import tables
from tests.bridge.client import Server, server

EACH = 151  # compiling takes a while: one file in so many is broken


def rows_come_out(running: Server, folder: Path) -> None:
    layout = tables.layout(folder)
    worker = running.connect()
    written = tables.write(worker, layout, [tables.rows(10, 5), tables.rows(0, 10)])
    assert worker.ask("read", **tables.read_question(layout, written)) == {"ok": {}}
    assert worker.rows().to_pydict() == {"id": list(range(15)), "value": list(range(0, 30, 2))}
    running.leave()


def test_files_cut_short_or_of_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.CACHE_DIRECTORY is not None
    jit.load_sources()
    if not (jit.CACHE_DIRECTORY / "complete").exists():
        jit.warm()
    own = Path(shutil.copytree(jit.CACHE_DIRECTORY, tmp_path / jit.CACHE_DIRECTORY.name))
    monkeypatch.setenv(jit.CACHE_VARIABLE, str(tmp_path))
    warmed = {compiled.py_func.__name__ for compiled, _ in jit.DECLARED}
    found = [*own.rglob("*.nbc"), *own.rglob("*.nbi")]
    broken = sorted(file for file in found if file.name.split("-")[0].split(".")[-1] in warmed)[
        ::EACH
    ]
    assert len(broken) > 3
    noise = random.Random(1)
    for place, file in enumerate(broken):
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[noise.randrange(len(content))] ^= 1 << noise.randrange(8)
        file.write_bytes((content[:40], noise.randbytes(400), flipped)[place % 3])
    found_so = {file: file.read_bytes() for file in broken}
    with server() as running:
        rows_come_out(running, tmp_path / "table")
    left = [file for file, was in found_so.items() if file.exists() and file.read_bytes() == was]
    assert len(left) < len(broken)  # a kernel that others have compiled in is not loaded by itself
    with server() as running:
        rows_come_out(running, tmp_path / "again")
