"""The cases by pypaimon, on keyfold's tables, and by deltalake, on its own; by the Python of
build/readers, and started by the path of this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from pypaimon import CatalogFactory, Schema
from pypaimon_rust.datafusion import PaimonCatalog
from serve import (
    PARTS,
    Keys,
    Work,
    few_rows,
    rows_of,
    rows_of_parts,
    serve,
    small_rows,
    touched,
)


def _paimon(path: str) -> Any:
    """A table of pypaimon: <warehouse>/<database>.db/<table>."""
    place = Path(path)
    catalog = CatalogFactory.create({"warehouse": str(place.parent.parent)})
    return catalog.get_table(f"{place.parent.stem}.{place.name}")


def _read(table: Any, key: int | None) -> int:
    builder = table.new_read_builder()
    if key is not None:
        builder = builder.with_filter(builder.new_predicate_builder().equal("k", key))
    found = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return touched(found.to_batches())


def paimon_scan(path: str, keys: Keys) -> Work:
    """All rows."""
    table = _paimon(path)
    return lambda: _read(table, None)


def paimon_get(path: str, keys: Keys) -> Work:
    """Keys one after another, by its reader."""
    table = _paimon(path)
    return lambda: sum(_read(table, key) for key in keys.tolist())


def rust_scan(path: str, keys: Keys) -> Work:
    """All rows, a batch at a time."""
    place = Path(path)
    catalog = PaimonCatalog({"warehouse": str(place.parent.parent)})
    builder = catalog.get_table(f"{place.parent.stem}.{place.name}").new_read_builder()

    def work() -> int:
        batches = builder.new_read().read_arrow(builder.new_scan().plan().splits())
        return touched(batches)

    return work


def paimon_many_files(path: str, keys: Keys) -> Work:
    """A commit whose files are many and small, into a new table."""
    place, rows = Path(path), rows_of_parts(len(keys))
    name = f"{place.parent.stem}.files_of_paimon_{int(keys[0])}"
    catalog = CatalogFactory.create({"warehouse": str(place.parent.parent)})
    schema = Schema.from_pyarrow_schema(
        rows.schema,
        partition_keys=["p"],
        primary_keys=["p", "k"],
        options={"bucket": "256", "write-only": "true"},
    )
    catalog.create_table(name, schema, False)
    builder = catalog.get_table(name).new_batch_write_builder()

    def work() -> int:
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()
        return int(rows.num_rows)

    return work


def delta_make(path: str, keys: Keys) -> Work:
    """The rows in four commits."""
    parts = [rows_of(part) for part in np.array_split(keys, PARTS)]

    def work() -> int:
        for part in parts:
            write_deltalake(path, part, mode="append")
        return len(keys)

    return work


def delta_scan(path: str, keys: Keys) -> Work:
    """All rows, a batch at a time."""
    table = DeltaTable(path)
    return lambda: touched(table.to_pyarrow_dataset().to_batches())


def delta_to_arrow(path: str, keys: Keys) -> Work:
    """All rows in memory."""
    table = DeltaTable(path)
    return lambda: int(table.to_pyarrow_table().num_rows)


def delta_upsert(path: str, keys: Keys) -> Work:
    """Rows of keys that are there, by its merge."""
    return _upserted(path, rows_of(np.unique(keys)))


def _upserted(path: str, rows: pa.Table) -> Work:
    def work() -> int:
        merge = DeltaTable(path).merge(rows, "t.k = s.k", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        return int(rows.num_rows)

    return work


def delta_upsert_few(path: str, keys: Keys) -> Work:
    """Ten rows of a few thousand, again and again."""
    small = str(Path(path).with_name("delta_few"))
    if not DeltaTable.is_deltatable(small):
        write_deltalake(small, small_rows())
    works = [_upserted(small, rows) for rows in few_rows(keys)]

    def work() -> int:
        for upsert in works:
            upsert()
        return len(keys)

    return work


def delta_update(path: str, keys: Keys) -> Work:
    """One row of a hundred."""
    first = int(keys[0]) % 100 * 10

    def work() -> int:
        where = f"a BETWEEN {first} AND {first + 9}"
        return int(DeltaTable(path).update({"d": "d + 1"}, predicate=where)["num_updated_rows"])

    return work


def delta_merge(path: str, keys: Keys) -> Work:
    """Rows of keys that are there, which are added to."""
    rows = rows_of(np.unique(keys))

    def work() -> int:
        merge = DeltaTable(path).merge(rows, "t.k = s.k", source_alias="s", target_alias="t")
        made = merge.when_matched_update({"d": "t.d + s.d"}).when_not_matched_insert_all()
        return int(made.execute()["num_target_rows_updated"])

    return work


def delta_get(path: str, keys: Keys) -> Work:
    """Keys one after another, by a filter."""
    data = DeltaTable(path).to_pyarrow_dataset()
    field = pc.field("k")
    return lambda: sum(data.to_table(filter=field == key).num_rows for key in keys.tolist())


def delta_get_many(path: str, keys: Keys) -> Work:
    """Keys at once, by a filter."""
    data, asked = DeltaTable(path).to_pyarrow_dataset(), pa.array(np.unique(keys))
    return lambda: int(data.to_table(filter=pc.field("k").isin(asked)).num_rows)


CASES = {
    "paimon_scan": paimon_scan,
    "paimon_get": paimon_get,
    "paimon_many_files": paimon_many_files,
    "rust_scan": rust_scan,
    "delta_make": delta_make,
    "delta_scan": delta_scan,
    "delta_to_arrow": delta_to_arrow,
    "delta_upsert": delta_upsert,
    "delta_upsert_few": delta_upsert_few,
    "delta_update": delta_update,
    "delta_merge": delta_merge,
    "delta_get": delta_get,
    "delta_get_many": delta_get_many,
}

if __name__ == "__main__":
    serve(CASES)
