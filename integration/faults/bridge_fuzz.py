"""`python -m integration.faults.bridge_fuzz --inputs 1000000`: damaged answers in the JVM.

BridgeFuzz.scala beside this file plays the foreign process and the task that reads.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from integration.paimon.library import SPARK_JARS, START
from keyfold.bridge import frames
from keyfold.setup.session import jar_path

SOURCE = Path(__file__).with_name("BridgeFuzz.scala")
OPENED = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch")]
SMALL = ("-Xmx400m", "-XX:MaxDirectMemorySize=200m")


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


def run(inputs: int, seed: int, first: int = 0, timeout: float | None = None) -> str:
    """What BridgeFuzz prints: findings, then how many inputs ended how."""
    with tempfile.TemporaryDirectory(prefix="kf-") as place:
        folder = Path(place)
        (folder / "answer").write_bytes(answer())
        (folder / "log").write_text("worker 1 ended: exit code 1\n")  # nobody waits for its fate
        jars = f"{SPARK_JARS}/*:{jar_path()}"
        compiler = ["-Xss8m", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-d", place]
        subprocess.run([*START, *compiler, str(SOURCE)], check=True, timeout=timeout)
        program = [*SMALL, *OPENED, "-cp", f"{place}:{jars}", "keyfold.integration.BridgeFuzz"]
        done = subprocess.run(
            [*START, *program, place, str(inputs), str(seed), str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        return done.stdout + (f"FINDING exit code {done.returncode}\n" if done.returncode else "")


def main() -> int:
    """Run many inputs, or one again; 1 if anything happened that should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--first", type=int, default=0, help="the place to begin at")
    asked = parser.parse_args()
    said = run(asked.inputs, asked.seed, asked.first)
    print(f"seed {asked.seed}\n{said}")
    return int("FINDING" in said)


if __name__ == "__main__":
    sys.exit(main())
