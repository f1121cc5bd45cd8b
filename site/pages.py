"""Pages of the site that are not files of docs/: README.md is its front page, and CONTRIBUTING.md,
CHANGELOG.md, LICENSE and the notebooks belong to it too. mkdocs calls these functions (`hooks` in
mkdocs.yml).
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

TOP = Path(__file__).resolve().parents[1]
PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE",
    "examples/pyspark.ipynb": "examples/pyspark.ipynb",
    "examples/python_alone.ipynb": "examples/python_alone.ipynb",
}
LINK = re.compile(r"(\]\()(?:\.\./)?([\w./-]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are at the top of the repository."""
    for name, place in PLACES.items():
        files.append(File.generated(config, place, content=(TOP / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to the places that files have in the site."""

    def placed(link: re.Match[str]) -> str:
        target = link[2].removeprefix("docs/")
        return link[1] + PLACES.get(target, target)

    return LINK.sub(placed, markdown)
