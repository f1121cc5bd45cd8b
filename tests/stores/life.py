"""The life of a table, as every store has to bear it."""

import time
import uuid

from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.procedures.called import called


def lived(options: Options) -> None:
    """Write, compact, expire, clean up, overwrite, alter and drop a table."""
    jobs.made(options)
    for value in range(3):
        Write(options, [{"k": key, "v": value} for key in range(value, value + 3)]).run().commit()
    expected = {0: 0, 1: 1, 2: 2, 3: 2, 4: 2}
    assert rows_of(table_of(options)) == expected
    assert jobs.compacted(options) == ["committed"]
    table = table_of(options)
    assert len(table.live_files()) == 1
    asked = {"retain_max": 1, "retain_min": 1, "max_deletes": 100}
    (row,) = called(table, "expire_snapshots", within=jobs.options_of(options), **asked)
    assert row == {"deleted_snapshots_count": 3}
    assert rows_of(table) == expected
    orphan = f"data-{uuid.UUID(int=0)}-0.parquet"
    table.files.write(f"{table.layout.location}/bucket-0/{orphan}", b"")
    time.sleep(1.1)  # a store keeps whole seconds
    millis = int(time.time() * 1000)
    asked = {"older_than": millis, "dry_run": False}
    (row,) = called(table, "remove_orphan_files", within=jobs.options_of(options), **asked)
    assert row["deletedFileCount"] == 1
    assert rows_of(table) == expected
    Write(options, [{"k": 7, "v": 7}], "overwrite").run().commit()
    assert rows_of(table_of(options)) == {7: 7}
    altered = jobs.catalog(options).alter_table(
        ["default"], "t", [{"change": "add_column", "name": ["w"], "type": "long"}]
    )
    assert altered.layout.schema_id == 1
    catalog = jobs.catalog(options)
    assert catalog.list_tables(["default"]) == ["t"]
    assert catalog.drop_table(["default"], "t")
    assert not catalog.drop_table(["default"], "t")
    assert catalog.list_tables(["default"]) == []
    assert not catalog.files.is_folder(table.layout.location)
