"""Notebooks as they come out of a kernel of their own, in an empty folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from integration import TOP
from integration.faults.processes import DEADLINE

NOTEBOOKS = sorted((TOP / "examples").glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs that its cells have now, without what processes say beside."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="keyfold-notebook-") as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=DEADLINE, resources=resources, record_timing=False
        ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """What each cell of code printed, or has as its value."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = (one.get("text") or one["data"]["text/plain"] for one in cell.outputs)
            yield "".join(texts)
