"""Links in README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ lead to files and to their headings,
and the site made of them shows tables and lists. `make docs` checks links in the same way.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
PAGES = [TOP / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((TOP / "docs").glob("*.md"))
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MOST = 110  # characters of a line of code
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w/])((?:integration|tests|python|jvm|site)/[\w./-]+\w)")
FOR_CONTRIBUTORS = ("CONTRIBUTING.md", "how-it-works.md", "private-api.md")
FOR_USERS = [page for page in PAGES if page.name not in FOR_CONTRIBUTORS]
TEST = re.compile(r"\btests/[\w./]+|\btest_\w+(?:\.py)?\b")
MODULE = re.compile(r"python -m ((?:integration|tests)[\w.]*\w)")


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site name them."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links, without those to other hosts."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    yield from (target for target in LINK.findall(text) if "://" not in target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target
        on_site = file in PAGES or file.parent in (page.parent, TOP / "examples")
        assert page.parent == TOP or on_site, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_types_stand_in_backticks(page: Path) -> None:
    """As tags of HTML, `<BIGINT>` and the like, they would not be shown."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    assert re.findall(r"\w+<(?!br>)[\w…]+", text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_it_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in NAMED.findall(text):
        assert (TOP / name).exists(), name
    for module in MODULE.findall(text):
        place = TOP / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.name)
def test_pages_for_users_name_no_tests(page: Path) -> None:
    """CONTRIBUTING.md says which tests hold what these pages claim."""
    assert TEST.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_blank_line_comes_before_tables_and_lists(page: Path) -> None:
    before = ""
    for line in prose(page).splitlines():
        begun = re.match(r"\||[-*] |\d+\. ", line)
        if begun and not re.match(r"\||[-*] |\d+\. |  |$", before):
            raise AssertionError(f"{before!r} comes directly before {line!r}")
        before = line


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.name)
def test_lines_of_code_fit_their_column(page: Path) -> None:
    """The style sheet of the site makes the column of text that wide."""
    code = FENCED.findall(page.read_text(encoding="utf-8"))
    assert [line for block in code for line in block.splitlines() if len(line) > MOST] == []


def test_pictures_are_there_for_both_themes() -> None:
    text = (TOP / "README.md").read_text(encoding="utf-8")
    found = re.findall(r'srcset="([^"]+)-dark.png">\n  <img alt="[^"]+" src="([^"]+).png"', text)
    assert len(found) == text.count("<picture>") == 2
    for dark, light in found:
        assert dark == light
        assert (TOP / f"{light}.png").is_file()
        assert (TOP / f"{dark}-dark.png").is_file()


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (TOP / "site" / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2]
    listed = re.findall(r"([\w-]+\.md)", menu)
    found = [page.name for page in PAGES if page.parent != TOP]
    assert sorted(listed) == sorted([*found, "index.md", "contributing.md", "changelog.md"])


def test_the_table_of_the_readme_is_the_menu_of_the_site() -> None:
    menu = (TOP / "site" / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2]
    groups = re.findall(r"^  - ([\w ]+):\n((?:      - .*\n)+)", menu, re.MULTILINE)
    listed = {title.lower(): re.findall(r"([\w-]+\.md)", pages) for title, pages in groups}
    text = (TOP / "README.md").read_text(encoding="utf-8").partition("| to | read |\n")[2]
    rows = re.findall(r"^\| ([\w ]+) \| (.*) \|$", text, re.MULTILINE)
    assert {to: re.findall(r"([\w-]+\.md)\)", cells.lower()) for to, cells in rows} == listed


def test_the_checker_finds_dead_links(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A b, `c`\n\n```text\n# no heading, [no link](x.md)\n```\n[x](#a-b-c) `[n](o)`\n"
    )
    assert anchors(page) == {"a-b-c"}
    assert list(links(page)) == ["#a-b-c"]
