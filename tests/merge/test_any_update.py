"""An UPDATE that takes the sequence of a group away reads the same, whatever was compacted before.

Each key has another history of four jobs, and each is compacted in every way. The definition goes
record by record, as if all were compacted after each job.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from keyfold.kernels.ops import INSERT, UPDATE_BEFORE
from keyfold.merge.marks.mark_columns import FIELDS
from keyfold.testing.tables import batch, layout
from tests.definitions import fold, visible
from tests.merge.random_tables import check_same
from tests.merge.test_any_compaction import Cuts, History, Run, compacted, functions, ways

GROUP = {"merge-engine": "partial-update", "fields.s.sequence-group": "v,p"}
COLUMNS = {"k": "INT", "s": "INT", "v": "BIGINT", "p": "BIGINT", "o": "BIGINT"}
SEQUENCED = ("s", "v", "p")
JOBS = 4


@dataclass(frozen=True)
class Job:
    """A record of a key: the columns that it names, and whether it replaces these."""

    values: tuple[int | None, int | None, int | None, int | None]
    named: tuple[str, ...] = ("s", "v", "p", "o")
    kind: int = INSERT
    replaces: bool = False

    def row(self, key: int) -> dict[str, Any]:
        return {"k": key, **dict(zip(("s", "v", "p", "o"), self.values, strict=True))}


LATER, OLDER = Job((6, 7, 7, 7)), Job((4, 2, 2, None), SEQUENCED)
OTHERS, TAKEN = Job((None, None, None, 9), ("o",)), Job((6, 3, 3, 3), kind=UPDATE_BEFORE)
TO_NULL = Job((None, 10, 11, None), SEQUENCED, replaces=True)
WHOLE_TO_NULL = Job((None, 20, 21, 22), replaces=True)


@dataclass(frozen=True)
class Updates(History):
    """Jobs of all keys: job j of key k is the j-th of history k."""

    histories: tuple[tuple[Job, ...], ...] = ()

    @cached_property
    def runs(self) -> list[Run]:
        ids = {column.name: str(column.id) for column in self.layout.columns}

        def marked(jobs: tuple[Job, ...]) -> pa.RecordBatch:
            rows = batch(self.layout, [(job.kind, job.row(k)) for k, job in enumerate(jobs)])
            names = [",".join(ids[name] for name in job.named) for job in jobs]
            replaced = [
                ("*" if len(job.named) == 4 else text) if job.replaces else None
                for job, text in zip(jobs, names, strict=True)
            ]
            texts = [pa.array(names, pa.utf8()), pa.array(replaced, pa.utf8())]
            schema = pa.schema([*rows.schema, *FIELDS])
            return pa.RecordBatch.from_arrays([*rows.columns, *texts], schema=schema)

        return [[marked(jobs)] for jobs in zip(*self.histories, strict=True)]

    @cached_property
    def expected(self) -> list[Any]:
        found = []
        for key, jobs in enumerate(self.histories):
            state: list[Any] = []
            for job in jobs:
                row = job.row(key)
                if job.replaces and state:
                    state = [(INSERT, state[0][1] | {name: row[name] for name in job.named})]
                else:
                    state = fold(self.layout, [*state, (job.kind, row)])
            found += visible(state)
        return found


TABLES = {
    "sum": ((LATER, OLDER, OTHERS, TO_NULL, TAKEN), functions("sum")),
    "max": ((LATER, OLDER, OTHERS, TO_NULL, WHOLE_TO_NULL), functions("max")),
    "newest": ((LATER, OLDER, OTHERS, TO_NULL, WHOLE_TO_NULL), {}),
    "first_value": ((LATER, OTHERS, TO_NULL, WHOLE_TO_NULL), functions("first_value")),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_group_without_a_sequence_begins_anew(name: str) -> None:
    jobs, options = TABLES[name]
    found = layout(COLUMNS, ["k"], GROUP | options)
    histories = tuple((LATER, *rest) for rest in product(jobs, repeat=JOBS - 1))
    history = Updates(found, (), histories)
    known: dict[Cuts, Run | None] = {}
    for way in ways(0, JOBS):
        runs = [run for part in way[2] if (run := compacted(history, part, known)) is not None]
        if len(runs) == len(way[2]):
            try:
                check_same(history.read(runs), history.expected, history.columns)
            except AssertionError as error:
                raise AssertionError(f"{way}: {error}") from None
    assert len(known) > JOBS
