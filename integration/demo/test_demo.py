"""The demo, on the first two months only. Spark interprets its queries; `make demo` compiles
them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from integration import TOP, sessions
from integration.faults.processes import DEADLINE


def test_demo(tmp_path: Path) -> None:
    confs = " ".join(f"--conf {name}={value}" for name, value in sessions.INTERPRETED.items())
    command = [sys.executable, "-m", "integration.demo", "--months", "2", "--folder", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=TOP,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": f"{confs} pyspark-shell"},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" equal ") == 23
    assert "every answer is the one of plain Spark" in done.stdout
    assert (tmp_path / "warehouse" / "demo.db" / "aircraft" / "snapshot").is_dir()
