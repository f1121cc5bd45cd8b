"""The tables in README.md and docs/ that are made of declarations are current."""

import re
from pathlib import Path

import pytest

from integration.bench import cases, stored
from integration.docs import (
    aggregate_tables,
    bench_tables,
    pages,
    python_functions,
    scala_functions,
)
from keyfold.aggregates import aggregates
from keyfold.options.column_options import FIELD_OPTIONS
from keyfold.options.declared import known
from keyfold.options.engines import engines


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_the_tables_are_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == pages.rewritten(path), "run `python -m integration.docs.pages`"
    for name in pages.TABLES.get(path.name, {}):
        assert len(re.findall(f"<!-- {name}: (?:begin|end) -->", text)) == 2


def test_results_name_the_first_and_its_lead() -> None:
    assert bench_tables.first({"keyfold": 2.0, "delta": 5.0, "paimon": 3.0}) == (
        "keyfold, 1.5 times as fast as Paimon Java"
    )
    assert bench_tables.first({"keyfold": 2.0, "delta": 5.0, "paimon": 0.1}) == (
        "Paimon Java, 20 times as fast as keyfold"
    )
    assert bench_tables.first({"keyfold": 2.0, "python": 0.1, "paimon": 0.5}) == (
        "keyfold from Python, 5.0 times as fast as Paimon Java"
    )
    assert bench_tables.first({"keyfold": 2.0, "python": 0.9, "paimon": 0.3}) == (
        "Paimon Java, 3.0 times as fast as keyfold from Python"
    )
    assert bench_tables.first({"keyfold": 2.0, "plain": 1.99}) == "plain Spark and keyfold equal"


def test_charts_have_the_figures_of_the_page(tmp_path: Path) -> None:
    found = stored.figures(pages.DOCS, cases.full(tmp_path))
    shape = found.get("merge/deduplicate/t4x400000_BIGINT_7_random", "reader")
    assert shape is not None
    page = (pages.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert shape.rows == 1_600_000
    assert f"| {shape.median:.3f} (" in page
    assert {system for _, system in found.results} >= {
        "keyfold",
        "plain",
        "paimon-spark",
        "reader",
        "paimon",
        "delta",
    }


def test_everything_says_what_it_does() -> None:
    for aggregate in aggregates().values():
        assert aggregate.summary, aggregate.name
        assert aggregate.nulls, aggregate.name
        assert f"| `{aggregate.name}`" in aggregate_tables.functions()
    for engine in engines().values():
        assert all((engine.summary, engine.nulls, engine.retraction)), engine.name


def test_the_functions_of_python_are_current() -> None:
    text = python_functions.SOURCE.read_text(encoding="utf-8")
    assert text == python_functions.rewritten(), "run `python -m integration.docs.pages`"


def test_the_functions_of_scala_are_current() -> None:
    text = scala_functions.SOURCE.read_text(encoding="utf-8")
    assert text == scala_functions.rewritten(), "run `python -m integration.docs.pages`"


def test_types_in_words() -> None:
    found = {
        name: aggregate_tables.types_of(aggregates()[name]) for name in ("sum", "max", "last_value")
    }
    assert found == {"sum": "numbers", "max": "all but ARRAY, MAP, STRUCT", "last_value": "any"}
    assert aggregate_tables.types_of(aggregates()["nested_update"]) == "ARRAY of STRUCT"


def test_every_option_has_its_line() -> None:
    lines = pages.options().splitlines()
    begin = "| `source.split.target-size` | size such as 128 mb, 64kb, 1048576 | `128 mb` | ALTER, "
    assert any(line.startswith(f"{begin}CALL, read | Most bytes of files") for line in lines)
    named = [line for line in lines if line.startswith("| `")]
    assert len(named) == len(known()) + len(FIELD_OPTIONS)
    for option in known().values():
        assert sum(line.startswith(f"| `{option.name}` |") for line in named) == 1


def test_the_readme_is_short() -> None:
    assert len(pages.README.read_text(encoding="utf-8").splitlines()) <= 250


def test_the_readme_leads_to_every_page() -> None:
    text = pages.README.read_text(encoding="utf-8")
    names = [page.name for page in pages.DOCS.glob("*.md")]
    assert [name for name in names if f"(docs/{name})" not in text] == []
