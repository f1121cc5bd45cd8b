"""Tables of a Hive catalog whose metastore is kept in memory: what it is told, and jobs between
whose steps others come. Beside a real one: integration/paimon/test_hive_catalog.py.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from keyfold.errors import NoSuchTableError, StoreError, TableError
from keyfold.merge.plan import check
from keyfold.storage.catalogs import hive_names
from keyfold.storage.catalogs.hive_names import HiveNames
from keyfold.storage.catalogs.warehouse import WarehouseCatalog
from keyfold.storage.hive import thrift
from keyfold.storage.hive.metastore import DATABASE, TABLE, Metastore, RefusedError
from keyfold.storage.hive.tables import columns_of
from keyfold.storage.hive.thrift import Struct
from keyfold.storage.table import Table
from keyfold.stores import folders
from keyfold.stores.local import LocalFiles
from tests.storage.tables import column, new_table

SHOP = "shop"


@dataclass(frozen=True)
class Kept(Metastore):
    """The one namespace `shop`, and its tables by name."""

    place: str = ""
    known: dict[str, Struct] = field(default_factory=dict)

    def database(self, name: str) -> Struct | None:
        return {DATABASE.LOCATION: thrift.text(f"file:{self.place}")} if name == SHOP else None

    def tables(self, database: str) -> list[Struct]:
        return list(self.known.values())

    def table(self, database: str, name: str) -> Struct | None:
        return self.known.get(name)

    def create_table(self, table: Struct) -> None:
        assert self.known.setdefault(thrift.text_of(table, TABLE.NAME), table) is table

    def alter_table(self, database: str, name: str, table: Struct) -> None:
        del self.known[name]
        self.create_table(table)

    def drop_table(self, database: str, name: str) -> bool:
        return self.known.pop(name, None) is not None


@pytest.fixture
def metastore(tmp_path: Path) -> Kept:
    return Kept((), "etl", f"{tmp_path}/shop.db")


@pytest.fixture
def catalog(metastore: Kept, tmp_path: Path) -> WarehouseCatalog:
    files = LocalFiles()
    return WarehouseCatalog("hive", files, HiveNames(files, str(tmp_path), metastore), check)


def before(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, come: Callable[[], object]
) -> None:
    """Another job comes right before the first call of a function."""
    call = getattr(owner, name)

    def called(*given: object) -> object:
        monkeypatch.setattr(owner, name, call)
        come()
        return call(*given)

    monkeypatch.setattr(owner, name, called)


def test_a_table_that_is_read_while_it_is_renamed(
    catalog: WarehouseCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metastore has the new name a moment before its folder is there."""
    catalog.create_table([SHOP], "t", new_table())
    with ThreadPoolExecutor(1) as pool:
        found: list[Future[Table]] = []

        def read() -> None:
            found.append(pool.submit(catalog.load_table, [SHOP], "u"))
            time.sleep(0.2)

        before(monkeypatch, folders, "move", read)
        catalog.rename_table([SHOP], "t", [SHOP], "u")
        assert found[0].result(60).table == "u"
    shutil.rmtree(found[0].result().layout.location)
    monkeypatch.setattr(hive_names, "SECONDS_TO_MOVE", 0.0)
    with pytest.raises(TableError, match="where no schema is found: restore its folder"):
        catalog.load_table([SHOP], "u")


def test_the_copy_of_a_table_that_is_replaced(catalog: WarehouseCatalog, metastore: Kept) -> None:
    old = new_table(bucket="1", num_sorted_run__stop_trigger="9")
    catalog.create_table([SHOP], "t", old)
    new = new_table(column("id"), column("name", "string"), key="id", bucket="3")
    catalog.commit_staged(catalog.stage([SHOP], "t", new, "create_or_replace"))
    noted = metastore.known["t"]
    assert [thrift.text_of(one, 1) for one in columns_of(noted)] == ["id", "name"]
    options = thrift.pairs_of(noted, TABLE.PARAMETERS)
    assert (options["bucket"], options["primary-key"], options["bucket-key"]) == ("3", "id", "id")
    assert options["table_type"] == "PAIMON"
    assert "num-sorted-run.stop-trigger" not in options


def test_a_replaced_table_whose_columns_are_refused(
    catalog: WarehouseCatalog, metastore: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry is made anew; other refusals stay errors."""

    def refuse(*_: object) -> None:
        raise RefusedError("other types")

    monkeypatch.setattr(Kept, "alter_table", refuse)
    catalog.create_table([SHOP], "t", new_table())
    other = new_table(column("id", "string"), key="id")
    catalog.commit_staged(catalog.stage([SHOP], "t", other, "create_or_replace"))
    (one,) = columns_of(metastore.known["t"])
    assert (thrift.text_of(one, 1), thrift.text_of(one, 2)) == ("id", "string")
    with pytest.raises(RefusedError):
        catalog.commit_staged(catalog.stage([SHOP], "t", other, "create_or_replace"))
    assert catalog.list_tables([SHOP]) == ["t"]
    monkeypatch.setattr(Kept, "create_table", refuse)
    with pytest.raises(StoreError, match=r"shop.t is replaced, but .* has lost it \(other types\)"):
        catalog.commit_staged(catalog.stage([SHOP], "t", new_table(), "create_or_replace"))


def test_a_table_that_is_dropped_while_it_is_replaced(
    catalog: WarehouseCatalog, metastore: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one stays, as if it had been made after the DROP."""
    catalog.create_table([SHOP], "t", new_table())
    staged = catalog.stage([SHOP], "t", new_table(column("id"), key="id"), "create_or_replace")
    before(monkeypatch, folders, "move", lambda: catalog.drop_table([SHOP], "t"))
    catalog.commit_staged(staged)
    assert catalog.list_tables([SHOP]) == ["t"]
    assert catalog.load_table([SHOP], "t").layout.primary_key == ("id",)


def test_a_table_that_is_made_while_its_folder_goes(
    catalog: WarehouseCatalog, metastore: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another job's DROP has taken the name, and removes the folder a moment later."""
    catalog.create_table([SHOP], "t", new_table())
    assert metastore.drop_table(SHOP, "t")
    monkeypatch.setattr(hive_names, "SECONDS_BETWEEN", 0.3)
    before(monkeypatch, time, "sleep", lambda: shutil.rmtree(f"{metastore.place}/t"))
    catalog.create_table([SHOP], "t", new_table(column("id"), key="id"))
    assert catalog.load_table([SHOP], "t").layout.primary_key == ("id",)
    assert catalog.drop_table([SHOP], "t")
    with pytest.raises(NoSuchTableError):
        catalog.load_table([SHOP], "t")
