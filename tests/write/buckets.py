"""The buckets that the keys of a table are in, by its data files and by its index files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files.hash_index import hash_path, read_hashes
from keyfold.files.paimon_values import hashes
from keyfold.storage.metadata.index_manifests import HASH, read_entries
from keyfold.storage.table import Table

Place = tuple[tuple[Any, ...], int]


def indexed(table: Table) -> dict[Place, list[int]]:
    """The hashes that the index of a table has for each bucket."""
    if table.snapshot_id is None:
        return {}
    name = table.snapshots.read(table.snapshot_id).index_manifest
    found = {}
    for one in read_entries(table.manifests, name):
        assert one.kind == HASH
        read = read_hashes(table.files, hash_path(table.layout, one.file), one.rows)
        assert one.size == 4 * one.rows
        assert len(set(read.tolist())) == one.rows
        assert (one.partition, one.bucket) not in found
        found[one.partition, one.bucket] = read.tolist()
    return found


def check_once(table: Table) -> dict[Place, set[int]]:
    """No key is in two buckets, and the index has each in its own. Returns the hashes of keys by
    bucket.
    """
    index, stored = indexed(table), dict[Place, set[int]]()
    for file in table.live_files():
        path = f"{file.folder(table.layout)}/{file.name}"
        keys = pq.read_table(path).select(list(table.layout.key)).combine_chunks()
        columns = [column.combine_chunks() for column in keys.columns]
        columns = [pa.concat_arrays([c]) if isinstance(c, pa.Array) else c for c in columns]
        found = hashes(table.layout, table.layout.key, columns)
        stored.setdefault((file.partition, file.bucket), set()).update(found.tolist())
    partitions = {partition for partition, _ in stored}
    for partition in partitions:
        places = [found for (of, _), found in stored.items() if of == partition]
        assert len(set().union(*places)) == sum(map(len, places)), f"a key twice in {partition}"
    for place, found in stored.items():
        assert found <= set(index.get(place, ())), f"bucket {place} lacks keys in its index"
    return stored
