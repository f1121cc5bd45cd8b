"""Options and an engine that a module of a user's declares, and no source of keyfold's knows: a
table is made, written, read, altered and compacted with them.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.errors import FunctionError, NotSupportedError, TableError
from keyfold.kernels.ops import INSERT
from keyfold.merge.plan import check
from keyfold.options import provided
from keyfold.options.option import Option
from keyfold.options.values import whole
from keyfold.read.call_options import with_options
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.table import Table
from keyfold.user_functions.sources import Sources
from tests.compact import harness as compaction
from tests.definitions import fold
from tests.options import closest
from tests.read import harness
from tests.storage import tables

CODE = {"modules": closest.__name__}
SETTINGS = {"merge_engine": "closest", "bucket": "1", "num_sorted_run__compaction_trigger": "3"}


@pytest.fixture(autouse=True)
def _declared() -> Iterator[None]:
    with provided.by(Sources.from_json(CODE)):
        yield


def made(folder: Path, **options: str) -> Table:
    columns = tables.column("k"), tables.column("v", nullable=False), tables.column("s", "string")
    catalog = open_catalog("test", {"warehouse": str(folder)}, check)
    new = tables.new_table(*columns, **{**SETTINGS, **options})
    return catalog.create_table(["default"], "t", new)


def altered(found: Table, **change: Any) -> Table:
    folder = Path(found.layout.location).parent.parent
    catalog = open_catalog("test", {"warehouse": str(folder)}, check)
    return catalog.alter_table(["default"], "t", [change])


def filled(folder: Path) -> Table:
    found = made(folder, closest__to="10")
    for run, written in enumerate(([1, 40], [8, 30], [12, 20], [90, 33])):
        rows = [{"k": key, "v": v, "s": f"{run}"} for key, v in enumerate(written)]
        harness.upsert(found, rows)
    return found


CLOSE = [{"k": 0, "v": 8, "s": "1"}, {"k": 1, "v": 20, "s": "2"}]


def test_a_table_is_read_and_compacted_by_it(tmp_path: Path) -> None:
    found = filled(tmp_path)
    assert harness.rows(found) == CLOSE
    assert harness.rows(found, ["s"]) == [{"s": "1"}, {"s": "2"}]
    assert len(tables.reload(found).live_files()) == 4
    planned = compaction.sent(
        compaction.driver.plan_steps(compaction.asked(found) | {"code": CODE})
    )
    for step in planned["steps"]:
        compaction.commit(found, planned, step, compaction.run(planned, step))
    assert len(tables.reload(found).live_files()) == 1
    assert harness.rows(found) == CLOSE


def test_alter_goes_by_the_declaration(tmp_path: Path) -> None:
    found = made(tmp_path)
    change = {"change": "set_property", "key": "closest.to", "value": "10"}
    assert altered(found, **change).layout.options["closest.to"] == "10"
    with pytest.raises(TableError, match="expected a whole number from -1000 to 1000, found 'x'"):
        altered(found, **{**change, "value": "x"})
    harness.upsert(found, [{"k": 0, "v": 1, "s": ""}])
    with pytest.raises(TableError, match=r"closest\.to can't be changed once the table holds data"):
        altered(found, **{**change, "value": "11"})
    altered(found, **{**change, "key": "closest.column", "value": "k"})


def test_the_column_it_names_is_renamed_and_stays(tmp_path: Path) -> None:
    found = filled(tmp_path)
    altered(found, change="set_property", key="closest.column", value="v")
    renamed = altered(found, change="rename_column", name=["v"], to="w")
    assert renamed.layout.options["closest.column"] == "w"
    assert [row["w"] for row in harness.rows(renamed)] == [8, 20]
    with pytest.raises(NotSupportedError, match=r"option closest\.column names it"):
        altered(found, change="delete_column", name=["w"])


def test_a_misspelled_option_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"closest\.too .* is unknown; did you mean closest\.to\?"):
        made(tmp_path, closest__too="10")
    with pytest.raises(TableError, match=r"closest\.to .* is unknown"):
        made(tmp_path, merge_engine="deduplicate", closest__to="10")
    with provided.by(Sources()), pytest.raises((TableError, NotSupportedError)):
        made(tmp_path)


def test_no_call_has_another_value(tmp_path: Path) -> None:
    found = filled(tmp_path)
    with_options(found, {"closest.to": "10"})
    with pytest.raises(TableError, match=r"option closest\.to .* decides what the table's rows"):
        with_options(found, {"closest.to": "11"})


def test_it_folds_as_its_definition_says(tmp_path: Path) -> None:
    found, random = made(tmp_path, closest__to="3"), Random(5)
    runs = [
        [{"k": k, "v": random.randint(-9, 9), "s": str(n)} for k in random.sample(range(9), 6)]
        for n in range(5)
    ]
    for run in runs:
        harness.upsert(found, run)
    expected = fold(found.layout, [(INSERT, row) for run in runs for row in run])
    assert harness.rows(found) == [row for _, row in expected]


def test_a_default_that_the_option_does_not_take() -> None:
    def picky(text: str) -> int:
        raise KeyError(text)

    for parse, default, why in (
        (whole(1, 9), "many", "expected a whole number from 1 to 9"),
        (picky, "1", "KeyError: '1'"),
    ):
        option: Option[Any] = Option("closest.odd", parse, default, "Odd.")
        words = f"merge engine 'odd': option closest.odd does not take its own default '{default}'"
        with pytest.raises(FunctionError, match=f"{words}: {why}; declare one that it takes"):
            replace(closest.CLOSEST, name="odd", options=(option,))
    absent = Option("closest.odd", whole(1, 9), None, "Odd.")
    assert replace(closest.CLOSEST, name="odd", options=(absent,)).options == (absent,)
