"""compact_database: the tables that are named, whatever becomes of one of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import TableError
from keyfold.procedures import compact_database
from keyfold.storage.catalogs.warehouse import WarehouseCatalog


def made(folder: Path) -> keyfold.Catalog:
    catalog = keyfold.connect(folder, threads=2)
    for name in ("a", "b"):
        catalog.create_namespace(name)
        for table in ("t", "u"):
            found = catalog.create_table(
                f"{name}.{table}", {"k": "INT", "v": "INT"}, ["k"], options={"bucket": "1"}
            )
            for value in range(2):
                found.upsert([{"k": 1, "v": value}])
    return catalog


def outcomes(found: Any) -> dict[str, tuple[int, str]]:
    return {row["table"]: (row["steps"], row["status"]) for row in found.to_pylist()}


def test_all_tables(tmp_path: Path) -> None:
    catalog = made(tmp_path)
    done = (1, "committed")
    assert outcomes(catalog.compact()) == dict.fromkeys(("a.t", "a.u", "b.t", "b.u"), done)
    assert {status for _, status in outcomes(catalog.compact()).values()} == {"skipped"}
    assert catalog.table("b.u").get({"k": 1}) == {"k": 1, "v": 1}


def test_those_that_are_named(tmp_path: Path) -> None:
    catalog = made(tmp_path)
    assert [*outcomes(catalog.compact("a|c"))] == ["a.t", "a.u"]
    assert [*outcomes(catalog.compact(None, r".*\.t"))] == ["a.t", "b.t"]
    assert [*outcomes(catalog.compact("b", excluding=r"b\.t"))] == ["b.u"]
    with pytest.raises(TableError, match="including_tables is '\\['; expected a regular"):
        catalog.compact(tables="[")


def test_a_table_that_fails(tmp_path: Path) -> None:
    catalog = made(tmp_path)
    (lost, *_) = (tmp_path / "a.db" / "u" / "bucket-0").glob("data-*.parquet")
    lost.unlink()
    found = catalog.compact()
    assert [status for _, status in outcomes(found).values()] == [
        "committed",
        "failed",
        "committed",
        "committed",
    ]
    assert lost.name in found.to_pylist()[1]["message"]


def test_an_error_of_a_library_and_a_namespace_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody foresees all of them; what is there is compacted."""
    catalog, compacted, listed = (
        made(tmp_path),
        compact_database.compacted,
        WarehouseCatalog.list_namespaces,
    )

    def failing(runner: Any, load: Any, *more: Any, **named: Any) -> Any:
        if load().layout.name.endswith("a.u"):
            raise pa.ArrowInvalid("of the library")
        return compacted(runner, load, *more, **named)

    monkeypatch.setattr(compact_database, "compacted", failing)
    monkeypatch.setattr(WarehouseCatalog, "list_namespaces", lambda one: [*listed(one), ["aa"]])
    found = catalog.compact().to_pylist()
    assert {row["table"]: row["status"] for row in found} == {
        **dict.fromkeys(("a.t", "b.t", "b.u"), "committed"),
        "a.u": "failed",
    }
    assert [row["message"] for row in found if row["status"] == "failed"] == [
        "ArrowInvalid: of the library"
    ]
