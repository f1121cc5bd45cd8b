"""Programs of users: their types, their memory, and what a terminal shows them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import keyfold

COMPACTING = """
import sys
import keyfold
table = keyfold.connect(sys.argv[1], threads=1).table("t")
assert table.compact().num_rows == 2
"""
ROWS = 2_000_000
READING = f"""
import resource, sys
import pyarrow as pa
import keyfold
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
table = keyfold.connect(sys.argv[1], threads=1, memory=128 << 20).table("big")
def batches():
    for first in range(0, {ROWS}, 50_000):
        k = pa.array(range(first, first + 50_000))
        yield pa.record_batch({{"k": k, "v": k.cast(pa.utf8())}})
for run in range(2):
    table.upsert(batches())
    print("upsert", peak(), flush=True)
for name in ("t", "big"):  # the first one loads what a merge needs
    scan = keyfold.connect(sys.argv[1], threads=1, memory=128 << 20).table(name).scan()
    rows = size = 0
    for batch in scan.to_batches():
        rows, size = rows + batch.num_rows, size + batch.nbytes
    print(rows, size >> 20, peak(), flush=True)
"""
TYPED = """
from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]

import keyfold
from keyfold import KeyfoldError, Table

catalog = keyfold.connect("warehouse", threads=2)
table: Table = catalog.create_table("t", {"k": "INT", "v": "STRING"}, primary_key=["k"])
snapshot: int | None = table.upsert([{"k": 1, "v": "one"}])
row = table.get({"k": 1}, ["v"], refresh_ms=100)
if row is not None:
    print(row["v"])
batches: Iterator[pa.RecordBatch] = table.scan(where="k > 0", limit=3).to_batches()
rows: pa.Table = table.prefix({"k": 1})
try:
    table.delete(where="k = 1")
except KeyfoldError as error:
    print(error)
names: list[str] = catalog.tables()
"""
WRONG = 'import keyfold\nkeyfold.connect("w").table("t").scan(limit="3")\n'

AUTHOR = """
from typing import Any
import keyfold

@keyfold.aggregate("BIGINT", identity=0, retract=lambda total, value: total - value)
def added(total: int, value: int) -> int:
    return total + value

@keyfold.engine({"version": "BIGINT"})
def newest(kept: Any, row: Any) -> bool:
    return bool(row.version > kept.version)

spark: Any = None
reveal_type(added)
reveal_type(newest)
reveal_type(keyfold.configure(spark, warehouse="/tmp"))
reveal_type(keyfold.register(spark, added, newest))
reveal_type(keyfold.__version__)
keyfold.aggregate.pick("INT", nulls="see")
keyfold.aggregate("INT", nulls="never")
keyfold.configure(spark, warehouse=1)
keyfold.agregate("INT")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    options = {"bucket": "2", "write-only": "true"}
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ["k"], options=options)
    for _ in range(2):
        table.upsert([{"k": k} for k in range(100)])
    return tmp_path


def run(program: str, folder: Path, error: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", "-c", program, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=error, text=True)


def test_a_terminal_shows_a_bar(folder: Path) -> None:
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = run(COMPACTING, folder, its_end)
    os.close(its_end)
    shown = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # no process has the other end any more
            break
        shown += more
    os.close(terminal)
    process.communicate()
    assert process.returncode == 0, shown
    for number in (0, 1):
        assert f"keyfold.default.t:{number * 50:4d}%".encode() in shown
        assert f"{number}/2 [".encode() in shown


def test_what_is_no_terminal_gets_nothing(folder: Path) -> None:
    process = run(COMPACTING, folder)
    assert process.communicate() == ("", "")
    assert process.returncode == 0


def test_memory_stays_below_what_is_read_and_written(folder: Path) -> None:
    options = {"bucket": "1", "write-only": "true"}
    catalog = keyfold.connect(folder)
    catalog.create_table("big", {"k": "BIGINT", "v": "STRING"}, ["k"], options=options)
    process = run(READING, folder)
    out, error = process.communicate()
    assert process.returncode == 0, error
    (_, first), (_, second), few, many = (line.split() for line in out.splitlines())
    assert int(second) - int(first) < 32, "the second stream takes no more than the first"
    assert int(few[0]) == 100
    rows, size, peak = map(int, many)
    assert rows == ROWS
    assert peak - int(second) < size, out


def test_types_reach_the_user(tmp_path: Path) -> None:
    """mypy sees keyfold's types, of a package that it finds as any other, and every name that the
    package shows.
    """
    for name, text in (("right", TYPED), ("wrong", WRONG), ("author", AUTHOR)):
        (tmp_path / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "right.py", "wrong.py", "author.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = re.findall(r'Revealed type is "(?:keyfold\.)?([^"]+)"', done.stdout)
    function = "user_functions.user_function.UserFunction"
    builder = "pyspark.sql.session.SparkSession.Builder"
    assert shown == [function, function, builder, "None", "str"], done.stdout + done.stderr
    (wrong,), refused = (
        re.findall(rf"^{name}\.py:(\d+): error: (.*)$", done.stdout, re.M)
        for name in ("wrong", "author")
    )
    assert ": error:" not in re.sub(r"^(wrong|author)\.py.*$", "", done.stdout, flags=re.M)
    assert wrong[0] == "2"
    assert 'Argument "limit" to "scan" of "Table"' in wrong[1]
    lines = AUTHOR.splitlines()
    assert [lines[int(number) - 1].partition("(")[0] for number, _ in refused] == [
        "keyfold.aggregate.pick",
        "keyfold.aggregate",
        "keyfold.configure",
        "keyfold.agregate",
    ]
