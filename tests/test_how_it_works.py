"""docs/how-it-works.md names files that there are."""

import re
from pathlib import Path

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "how-it-works.md"
NAMED = re.compile(r"[\w./-]*\w\.(?:py|scala)\b")
CLASS = re.compile(r"`(Keyfold\w+|Arrow\w+)`")


def test_every_file_it_names_exists() -> None:
    text = PAGE.read_text()
    there = [
        str(path) for top in ("python", "jvm") for path in (TOP / top).rglob("*") if path.is_file()
    ]
    named = [name for name in NAMED.findall(text) if "…" not in name and "_definition" not in name]
    assert len(named) > 25
    for name in named:
        assert any(path.endswith(f"/{name.lstrip('/')}") for path in there), name
    sources = "".join(path.read_text() for path in (TOP / "jvm").rglob("*.scala"))
    for name in CLASS.findall(text):
        assert f"class {name}" in sources, name
