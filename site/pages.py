"""Pages of the site that are not files of docs/: README.md is its front page, and CONTRIBUTING.md,
CHANGELOG.md, LICENSE, the notebooks and the style sheet belong to it too. mkdocs calls these
functions (`hooks` in mkdocs.yml).
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
    "site/site.css": "site.css",
}
NAME_IN_TABLE = re.compile(r"(<td[^>]*><code>)([^<]+)(?=</code>)")
VERSION = re.compile(r"^version=(.*)$", re.MULTILINE)
LINK = re.compile(r"(\]\()(?:\.\./)?([\w./-]+)")
PICTURE = re.compile(
    r'<picture>.*?srcset="([^"]+)".*?alt="([^"]+)" src="([^"]+)".*?</picture>', re.S
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The version stands at the foot of each page."""
    (version,) = VERSION.findall((TOP / "gradle.properties").read_text(encoding="utf-8"))
    config.copyright = f"keyfold {version}, {config.copyright}"
    return config


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

    return LINK.sub(placed, PICTURE.sub(_themed, markdown))


def _themed(picture: re.Match[str]) -> str:
    """A picture of the README: the colors of the page decide here which of both is shown."""
    dark, words, light = picture.groups()
    return f"![{words}]({light}#only-light)![{words}]({dark}#only-dark)"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let names in tables break after their dots; the style sheet keeps words whole."""
    return NAME_IN_TABLE.sub(lambda cell: cell[1] + cell[2].replace(".", ".<wbr>"), html)
