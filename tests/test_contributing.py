"""CONTRIBUTING.md: the aggregate it adds is found, and held to its definition."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
EXAMPLE = re.compile(r"^## Add an aggregate$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_aggregate_that_is_added_works(tmp_path: Path) -> None:
    """In a copy of the checkout, by the command that the page names."""
    for name in ("python", "tests"):
        shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(TOP / name, tmp_path)
    example = EXAMPLE.search((TOP / "CONTRIBUTING.md").read_text())
    assert example is not None
    (tmp_path / "python/keyfold/aggregates/longest.py").write_text(example[1])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/aggregates", "-k", "longest"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "python")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= 2  # what it folds, what NULL does
