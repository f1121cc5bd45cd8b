"""Where a session's own functions are found, which one counts, and what is said when none is."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import keyfold
from keyfold.errors import EnvironmentMismatchError, FunctionError
from keyfold.kernels import jit
from keyfold.user_functions import shipping, sources
from keyfold.user_functions.sources import Sources
from tests.user_functions import functions

MODULE = """
import keyfold

@keyfold.aggregate("BIGINT")
def {name}(accumulator, value):
    return {result}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Spark puts shipped files; paths, modules and entry points are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sources.UserModules, "shipped", tmp_path)
    monkeypatch.setattr(sources.UserModules, "installed", None)
    return tmp_path


def test_registered_before_modules_before_installed(folder: Path) -> None:
    (folder / "own_one.py").write_text(MODULE.format(name="odd", result="1"))
    found = Sources(("own_one",)).find("aggregates", "odd")
    assert found.accepts.words == "BIGINT"
    both = Sources(("own_one",), {"odd": shipping.dumps(functions.odd)})
    assert both.find("aggregates", "odd").accepts.words == "BOOLEAN"
    assert both.find("engines", "odd") is None
    assert both.find("aggregates", "none") is None


def test_modules_in_archives_are_found_and_two_of_one_name_refused(folder: Path) -> None:
    with zipfile.ZipFile(folder / "shipped.zip", "w") as archive:
        archive.writestr("own_zipped.py", MODULE.format(name="twice", result="accumulator"))
    (folder / "own_two.py").write_text(MODULE.format(name="Twice", result="value"))
    assert Sources(("own_zipped",)).names("aggregates") == ["twice"]
    with pytest.raises(
        FunctionError, match=r"two functions are named 'twice': in module own_zipped"
    ):
        Sources(("own_zipped", "own_two")).find("aggregates", "twice")


def test_a_module_that_fails_is_told_where_a_name_is_missing(folder: Path) -> None:
    (folder / "own_broken.py").write_text("import no_such_thing\n")
    sources = Sources(("own_broken", "own_absent"))
    assert sources.find("aggregates", "x") is None
    words = sources.explain("aggregates")
    assert "(now own_broken, own_absent)" in words
    assert f"Module own_broken can't be imported by {sys.executable}: " in words
    assert "No module named 'no_such_thing'" in words
    assert "No module named 'own_absent'" in words
    (folder / "own_absent.py").write_text(MODULE.format(name="x", result="value"))
    assert sources.find("aggregates", "x") is not None, "a file that came later is found"


def test_entry_points(folder: Path) -> None:
    package = folder / "own_package-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[keyfold.aggregates]\nall = own_installed\nbroken = own_installed:nothing\n"
        "[keyfold.engines]\nnewest = own_installed:newest\n"
    )
    text = MODULE.format(name="installed_sum", result="accumulator + value") + (
        "@keyfold.engine({'v': 'BIGINT'})\ndef newest(kept, row):\n    return row.v > kept.v\n"
    )
    (folder / "own_installed.py").write_text(text)
    sys.path.append(str(folder))
    sources = Sources()
    assert sources.names("aggregates") == ["installed_sum"]
    assert sources.find("engines", "newest").name == "newest"
    assert "Entry point broken = own_installed:nothing can't be imported" in sources.explain(
        "aggregates"
    )


def test_a_table_takes_what_it_names() -> None:
    registered = {f.name: shipping.dumps(f) for f in (functions.total, functions.longest)}
    sources = Sources(("a", "b"), registered)
    needed = sources.for_options({"fields.x.aggregate-function": "longest", "bucket": "4"})
    assert needed == {"modules": "a,b", "registered": {"longest": registered["longest"]}}
    assert Sources.from_json(needed) == Sources(("a", "b"), {"longest": registered["longest"]})


def test_another_python_is_refused() -> None:
    content = json.loads(base64.b64decode(shipping.dumps(functions.total)))
    text = base64.b64encode(json.dumps(content | {"python": "3.7"}).encode()).decode()
    with pytest.raises(
        EnvironmentMismatchError, match=r"'total' \(.*\) was registered by Python 3\.7"
    ):
        shipping.loads(text)


def test_what_is_registered_brings_its_helpers_and_constants(tmp_path: Path) -> None:
    text = shipping.dumps(functions.capped)
    program = (
        "import sys\nfrom keyfold.user_functions import shipping\n"
        "from keyfold.types import paimon\n"
        "from keyfold.user_functions.decorators import aggregate_of\n"
        "own = shipping.loads(sys.stdin.read())\nassert 'tests' not in sys.modules\n"
        "made = aggregate_of(own).bind({}, paimon.from_paimon('INT'))\n"
        "print(own(5, 2000), made.definition([(1, 5), (1, 2000)]))\n"
    )
    python = Path(keyfold.__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(python), "PYTHONSAFEPATH": "1"},
    )
    assert done.stdout.split() == ["1000", "1000"]
    assert jit.CACHE_DIRECTORY is None or any((jit.CACHE_DIRECTORY / "user_functions").iterdir())
