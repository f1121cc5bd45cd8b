"""The notebooks run, and show what they are kept with."""

from pathlib import Path

import nbformat
import pytest

from integration.examples.notebooks import NOTEBOOKS, executed, outputs


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_is_kept_with(path: Path) -> None:
    kept = list(outputs(nbformat.read(path, as_version=4)))
    assert sum(map(bool, kept)) >= 5, "kept without outputs"
    assert list(outputs(executed(path))) == kept


def test_both_are_tried() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["pyspark", "python_alone"]
