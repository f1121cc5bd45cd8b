"""A store that is only read: tables written elsewhere are read there, and nothing is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from keyfold.errors import NotSupportedError
from keyfold.merge.plan import check
from keyfold.read import reader
from keyfold.storage.catalogs.namespaces import Namespaces
from keyfold.storage.catalogs.warehouse import WarehouseCatalog
from keyfold.storage.table import Table
from keyfold.stores.files import Files
from keyfold.stores.hadoop import HadoopFiles
from keyfold.write.keys.stored_keys import stored_keys
from tests.concurrency.jobs import rows_of
from tests.read import harness
from tests.storage import tables

IDS = {"auto-increment.fields": "v"}
ROWS = [{"k": k, "v": -k} for k in range(1000)]


def is_read_only(catalog: WarehouseCatalog) -> None:
    """Its one table has our rows, and takes no others."""
    assert catalog.list_namespaces() == [["default"]]
    assert catalog.list_tables(["default"]) == ["t"]
    table = catalog.load_table(["default"], "t")
    assert table.layout.identity
    assert rows_of(table) == {row["k"]: row["v"] for row in ROWS}
    assert catalog.files.is_folder(table.layout.location)
    assert not catalog.files.is_folder(f"{table.layout.location}/none")
    assert not catalog.files.exists(f"{table.layout.location}/none")
    with pytest.raises(FileNotFoundError):
        catalog.files.read(f"{table.layout.location}/none")
    with pytest.raises(NotSupportedError, match="can only be read"):
        catalog.drop_table(["default"], "t")
    writes: list[Any] = [
        lambda: catalog.files.publish(f"{table.layout.location}/snapshot/snapshot-2", b""),
        lambda: catalog.files.write(f"{table.layout.location}/manifest/m", b""),
        lambda: catalog.files.create(f"{table.layout.location}/data"),
        lambda: catalog.files.remove(f"{table.layout.location}/schema/schema-0"),
        lambda: catalog.files.remove_folder(table.layout.location),
    ]
    for write in writes:
        with pytest.raises(NotSupportedError, match=r"writing below \w+://.*no exclusive creation"):
            write()
    assert rows_of(table) == {row["k"]: row["v"] for row in ROWS}


def test_hadoop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of this machine, by pyarrow, are those of a name node."""
    harness.upsert(tables.table(tmp_path), ROWS)
    root = f"hdfs://node:8020{tmp_path}"
    files = HadoopFiles(root)
    files.__dict__["client"] = pafs.LocalFileSystem()

    def store_of(*_: Any) -> Files:
        return files

    monkeypatch.setattr(reader, "store_of", store_of)
    lake = WarehouseCatalog("lake", files, Namespaces(files, root), check)
    is_read_only(lake)
    table = lake.load_table(["default"], "t")
    assert isinstance(table, Table)
    ids = replace(table, layout=replace(table.layout, options=table.layout.options | IDS))
    with pytest.raises(NotSupportedError, match="ids of column v need a store that creates"):
        stored_keys(ids, None, only_new=False)
