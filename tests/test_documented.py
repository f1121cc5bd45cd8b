"""The README's tables of functions and engines say what the declarations say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.aggregates import aggregates
from keyfold.merge import documented
from keyfold.merge.engines import engines

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.parametrize(
    "table", [documented.functions, documented.parameters, documented.merge_engines]
)
def test_the_table_is_current(table: Callable[[], str]) -> None:
    remedy = "put the output of `python -m keyfold.merge.documented` into README.md"
    assert f"\n{table()}\n" in README.read_text(encoding="utf-8"), remedy


def test_everything_says_what_it_does() -> None:
    for aggregate in aggregates().values():
        assert aggregate.summary, aggregate.name
        assert aggregate.nulls, aggregate.name
        assert f"| `{aggregate.name}`" in documented.functions()
    for engine in engines().values():
        assert all((engine.summary, engine.nulls, engine.retraction)), engine.name


def test_types_in_words() -> None:
    found = {name: documented.types_of(aggregates()[name]) for name in ("sum", "max", "last_value")}
    assert found == {"sum": "numbers", "max": "all but ARRAY, MAP, STRUCT", "last_value": "any"}
    assert documented.types_of(aggregates()["nested_update"]) == "ARRAY of STRUCT"
