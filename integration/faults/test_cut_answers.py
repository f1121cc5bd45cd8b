"""A worker that ends in the middle of an answer, after any of its bytes: CutAnswers.scala beside
this file plays the worker and the task that reads.
"""

from __future__ import annotations

import datetime as dt
import subprocess
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from integration.faults.processes import DEADLINE
from integration.paimon.library import SPARK_JARS, START
from keyfold.bridge import frames
from keyfold.setup.session import jar_path

SOURCE = Path(__file__).with_name("CutAnswers.scala")
OPENED = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch")]


def answer() -> bytes:
    """What a worker says to `read`: an ok frame, a stream of each kind of column, a trailer."""
    batch = pa.record_batch(
        {
            "k": pa.array([1, 2, 3, None], pa.int64()),
            "t": pa.array(["a", None, "größer", ""]),
            "f": pa.array([True, None, False, True]),
            "d": pa.array(
                [Decimal("1.50"), None, Decimal("-3.25"), Decimal(0)], pa.decimal128(20, 2)
            ),
            "b": pa.array([b"\0\1", b"", None, b"x" * 40]),
            "at": pa.array([dt.datetime(2013, 1, 1), None, None, None], pa.timestamp("us")),
            "l": pa.array([["x", None], [], None, ["y"]], pa.list_(pa.string())),
            "m": pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int32())),
            "s": pa.array([{"x": 1, "y": "z"}, None, {"x": None, "y": ""}, None]),
        }
    )
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as out:
        out.write_batch(batch)
        out.write_batch(batch.slice(1, 2))
    trailer = frames.encode({"ok": {"metrics": {"rows": 6}}})
    return frames.encode({"ok": {}}) + stream.getvalue().to_pybytes() + trailer


def test_half_an_answer_is_a_worker_that_died(tmp_path: Path) -> None:
    said = answer()
    (tmp_path / "answer").write_bytes(said)
    (tmp_path / "log").write_text("worker 1 ended: exit code 1\n")  # its end is waited for
    jars = f"{SPARK_JARS}/*:{jar_path()}"
    compiler = ["-Xss8m", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-d", str(tmp_path)]
    subprocess.run([*START, *compiler, str(SOURCE)], check=True, timeout=DEADLINE)
    program = [*OPENED, "-cp", f"{tmp_path}:{jars}", "keyfold.integration.CutAnswers"]
    done = subprocess.run(
        [*START, *program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert ended.pop(str(len(said))) == "answered"
    assert set(ended) == {str(length) for length in range(len(said))}
    assert set(ended.values()) == {"refused, WorkerDied"}
