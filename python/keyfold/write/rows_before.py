"""The changelog records of statements that change rows (DELETE, UPDATE, MERGE) under
`changelog-producer` = `input`: the row that a record removes or replaces, then the one in its
place. So a consumer that takes old values back and adds new ones counts right.

Look-ups are of the snapshot that the statement has read; each task looks up the keys
that it writes. No other job has changed their rows since, or the commit is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from keyfold.changelog.compare import KIND_FIELD, OUTPUT_ROWS
from keyfold.kernels.groups.by_key import merge_groups
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.lookup.of_tasks import Plans
from keyfold.lookup.rows_of_keys import key_columns, runs_of
from keyfold.merge import kinds as row_kinds
from keyfold.merge.column_results import Columns, sliced
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import Batch, rounds
from keyfold.options.parsing import parse
from keyfold.resources.merge_room import MergeRoom
from keyfold.wire.specs import WriteSpec


def with_rows_before(
    spec: WriteSpec, plans: Plans, records: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The records of a bucket as a consumer needs them, with `_VALUE_KIND`, ascending by key.

    `records` have all columns and `_VALUE_KIND`, are ascending by key, those of a key in order, and
    no key is in two batches. A record whose row was there comes as -U and +U, one that removes it
    as -D, each with all values; one without a row before is +I. Inserted rows that fold with a row
    which was there stay as they came.
    """
    key, nullable = spec.layout.key, spec.layout.nullable_key
    for batch in records:
        asked = key_columns(spec.layout, spec.layout.primary_key, batch)
        runs = [SortedRun(rows, (0, 0)) for rows in runs_of(plans.of(asked), asked)]
        runs.append(SortedRun(iter([batch]), (0, 0), repeats=True))
        for pieces in rounds(runs, key, nullable, MergeRoom.now().round):
            yield from _records(spec, pieces)


def _records(spec: WriteSpec, pieces: list[list[Batch]]) -> Iterator[pa.RecordBatch]:
    """The changes of the rows before and, in the last of the pieces, the records of some keys."""
    layout, schema = spec.layout, spec.layout.arrow_schema
    lengths = [sum(part.num_rows for part in parts) for parts in pieces]
    columns = Columns([part for parts in pieces for part in parts], schema.names)
    keys = encode_closed([columns[name] for name in layout.key], lengths)
    order, starts = merge_groups(keys, lengths)
    firsts, lasts = order[starts[:-1]], order[starts[1:] - 1]
    before = sum(lengths[:-1])
    was_there = firsts < before
    kinds = _kinds(before, pieces[-1])
    is_there = ~is_retract(kinds[lasts])
    begins_anew = is_retract(kinds[order[starts[:-1] + was_there]])
    is_assigned = kinds[lasts] == UPDATE_AFTER
    folds = not parse(layout).engine.is_default
    is_taken = was_there & (is_assigned | begins_anew) if folds else was_there
    taken = np.where(is_there, UPDATE_BEFORE, DELETE)
    added = np.where(is_taken, UPDATE_AFTER, INSERT)
    flags = np.stack((is_taken, is_there), axis=1).ravel()
    kinds = np.stack((taken, added), axis=1).ravel()[flags].astype(np.int8)
    picks = np.stack((firsts, lasts), axis=1).ravel()[flags]
    left = np.where(is_taken & is_assigned, firsts, lasts)  # where a column is not assigned
    others = np.stack((firsts, left), axis=1).ravel()[flags]
    named = schema.names if spec.named is None else spec.named
    arrays = [columns.taken([n], picks if n in named else others)[0] for n in schema.names]
    arrays.append(row_kinds.to_array(kinds, len(kinds)))
    yield from sliced(arrays, pa.schema([*schema, KIND_FIELD]), OUTPUT_ROWS)


def _kinds(before: int, records: list[Batch]) -> Kinds:
    """The kinds of all rows: those before, which have none, and records."""
    found = [np.zeros(before, dtype=np.int8)]
    for batch in records:
        assert isinstance(batch, pa.RecordBatch)
        kinds = row_kinds.of(batch)
        assert kinds is not None
        found.append(kinds)
    return np.concatenate(found)
