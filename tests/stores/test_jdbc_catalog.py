"""A JDBC catalog of tables in a bucket: locks without being asked for, a row as long as a table."""

import sqlite3
from pathlib import Path

import pytest

from keyfold.errors import NotSupportedError, StoreError, TableExistsError
from keyfold.storage.jdbc import database
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.storage import tables

S3 = pytest.mark.parametrize("served", ["s3"], indirect=True)
HOME = ["default"]


@S3
def test_a_table_whose_row_can_not_be_stored_is_not_made(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tmp_path / "names.db"
    more = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{names}", "lock.enabled": "false"}
    catalog = jobs.catalog(options | more)
    monkeypatch.setattr(database, "_WAIT_SECONDS", 0.1)
    with sqlite3.connect(names) as connection:
        connection.execute("BEGIN IMMEDIATE")  # another writer
        with pytest.raises(StoreError, match="an SQLite file has one writer at a time"):
            catalog.create_table(HOME, "t", tables.new_table())
    assert catalog.create_table(HOME, "t", tables.new_table()).table == "t"


@S3
def test_tables_in_a_bucket_have_rows_and_locks(options: Options, tmp_path: Path) -> None:
    names = tmp_path / "names.db"
    more = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{names}", "lock-acquire-timeout": "300 ms"}
    given = options | more
    catalog = jobs.catalog(given)
    staged = catalog.stage(HOME, "t", tables.new_table(), "create")
    assert catalog.list_tables(HOME) == ["t"]
    catalog.abort_staged(staged)
    assert catalog.list_tables(HOME) == []
    catalog.commit_staged(catalog.stage(HOME, "t", tables.new_table(bucket="1"), "create"))
    catalog.abort_staged(staged)  # another table has the name by now
    assert catalog.list_tables(HOME) == ["t"]
    with pytest.raises(TableExistsError):
        catalog.create_table(HOME, "t", tables.new_table())
    Write(given, [{"k": 1, "v": 1}]).run().commit()
    job = Write(given, [{"k": 2, "v": 2}]).run()
    held = "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (?, 60)"
    with sqlite3.connect(names) as connection:
        connection.execute(held, ("jdbc.default.t",))
    with pytest.raises(StoreError, match=r"jdbc\.default\.t in paimon_distributed_locks"):
        job.commit()
    assert rows_of(table_of(given)) == {1: 1}
    with sqlite3.connect(names) as connection:
        connection.execute("DELETE FROM paimon_distributed_locks")
    with pytest.raises(NotSupportedError, match="can be neither renamed nor replaced"):
        catalog.rename_table(HOME, "t", HOME, "u")
    assert catalog.drop_table(HOME, "t")
    assert catalog.list_tables(HOME) == []
    catalog.create_table(HOME, "t", tables.new_table())
    assert catalog.drop_namespace(HOME, cascade=True)
    with sqlite3.connect(names) as connection:
        assert connection.execute("SELECT * FROM paimon_tables").fetchall() == []
        assert connection.execute("SELECT * FROM paimon_distributed_locks").fetchall() == []
