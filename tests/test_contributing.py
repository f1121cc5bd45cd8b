"""CONTRIBUTING.md: the aggregate and the procedure that it adds are found, and do what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from keyfold.kernels import jit

TOP = Path(__file__).parents[1]
AGGREGATE = ("Add an aggregate", "aggregates/longest.py")
PROCEDURE = ("Add a procedure", "procedures/large_files.py")
CALL = """
import json, tempfile
from pathlib import Path
from keyfold.wire.codec import batch_from_text
from tests.bridge.client import server
from tests.concurrency import jobs

folder = tempfile.mkdtemp()
jobs.made(folder)
for value in range(3):
    jobs.written(folder, [{"k": 1, "v": value}])
asked = jobs.question(jobs.table_of(folder), arguments={"least_bytes": None})
with server() as running:
    driver = running.connect("driver")
    listed = driver.ask("list_procedures", catalog=asked["catalog"])["ok"]
    none = driver.ask("call_procedure", procedure="large_files", **asked)["ok"]["end"]
    asked["arguments"] = {"least_bytes": 0}
    every = driver.ask("call_procedure", procedure="large_files", **asked)["ok"]["end"]
rows = [batch_from_text(end).to_pylist() for end in (none, every)]
print(json.dumps([[one for one in listed if one["name"] == "large_files"], *rows]))
"""


def checkout(folder: Path, title: str, path: str) -> Path:
    """A copy of the checkout with an example. Each has its own, as their kernels have."""
    copy = folder / "checkout"
    for name in ("python", "tests"):
        shutil.copytree(TOP / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(TOP / name, copy)
    page = (TOP / "CONTRIBUTING.md").read_text()
    example = re.search(rf"^## {title}$.*?^```python\n(.*?)^```$", page, re.M | re.S)
    assert example is not None
    (copy / "python/keyfold" / path).write_text(example[1])
    return copy


def keep_compiled(package: Path, cache: Path) -> None:
    """What is compiled is that of the copy too, but for the kernels that its example adds. A file
    more in `aggregates` makes it another cache, which would begin with none.
    """
    if jit.CACHE_DIRECTORY is not None:
        shutil.copytree(
            jit.CACHE_DIRECTORY,
            cache / f"kernels-{jit.source_digest(package)}",
            ignore=shutil.ignore_patterns("complete"),
            copy_function=os.symlink,
        )


def run(checkout: Path, *words: str, **environment: str) -> str:
    """What a command of Python prints there."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": f"{checkout / 'python'}:{checkout}"} | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_aggregate_that_is_added_works(tmp_path: Path) -> None:
    """By the command that the page names."""
    copy, cache = checkout(tmp_path, *AGGREGATE), tmp_path / "cache"
    keep_compiled(copy / "python/keyfold", cache)
    tests = ("-m", "pytest", "-q", "tests/aggregates", "-k", "longest")
    told = run(copy, *tests, **{jit.CACHE_VARIABLE: str(cache)})
    assert int(re.findall(r"(\d+) passed", told)[0]) >= 2  # what it folds, what NULL does


def test_the_procedure_that_is_added_is_listed_and_called(tmp_path: Path) -> None:
    """As the JVM asks for it: without an argument it has its default."""
    (declared,), none, every = json.loads(run(checkout(tmp_path, *PROCEDURE), "-c", CALL))
    assert [one["name"] for one in declared["parameters"]] == ["least_bytes"]
    assert declared["result"] == [{"name": name, "type": "BIGINT"} for name in ("files", "bytes")]
    assert none == [{"files": 0, "bytes": 0}]
    assert every[0]["files"] == 3
    assert every[0]["bytes"] > 0
