"""New keys fill buckets as the plain rule says, whose search begins anew for each bucket, and each
index file is read once.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keyfold.files.hash_index import Hashes, read_hashes
from keyfold.options.clusters import clusters
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout
from keyfold.write.keys import known_hashes
from keyfold.write.keys.assigned import AssignedPlaces
from keyfold.write.keys.room import BucketRoom
from tests.write.test_dynamic_buckets import COLUMNS, SCHEMA, jobs, made, now, rows


def layout_of(folder: Path, **options: str) -> TableLayout:
    """The layout of a table."""
    return now(made(folder, **options)).layout


def by_rule(target: int, most: int, step: int, part: int, counts: dict[int, int]) -> int | None:
    """The bucket of the next key: the first of the part with room, or the first number that is
    free.
    """
    for bucket in sorted(counts):
        if bucket % step == part and counts[bucket] < target:
            return bucket
    free = (bucket for bucket in range(part, most, step) if bucket not in counts)
    return next(free, None)


def test_the_rule(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for round_ in range(20):
        most, parts = rng.choice((3, 17, 200)), rng.randint(1, 5)
        options = {"dynamic_bucket__max_buckets": str(most)}
        options["dynamic_bucket__assigner_parallelism"] = str(parts)
        options["dynamic_bucket__target_row_num"] = str(rng.randint(1, 9))
        layout = layout_of(tmp_path / str(round_), **options)
        declared = parse(layout)
        step = clusters(declared)
        counts = {bucket: rng.randint(1, 12) for bucket in rng.sample(range(300), 30)}
        part = rng.randrange(step)
        room, expected = BucketRoom("t", declared, part, counts), dict(counts)
        for _ in range(6):
            new = np.array(rng.sample(range(10**6), rng.randint(0, 90)), np.int32)
            found = room.assign(new).tolist()
            for bucket in found:
                wanted = by_rule(declared.bucket_keys, most, step, part, expected)
                if wanted is None:
                    assert bucket in expected
                    assert bucket % step == part
                else:
                    assert bucket == wanted
                    expected[bucket] = expected.get(bucket, 0) + 1


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(0, 200, 2), 0))
    spec = jobs.plan_job(now(table), tuple(COLUMNS))
    reads: list[str] = []

    def read(files: object, path: str, count: int) -> Hashes:
        reads.append(path)
        return read_hashes(files, path, count)  # type: ignore[arg-type]

    monkeypatch.setattr(known_hashes, "read_hashes", read)
    places = AssignedPlaces(spec)
    batch = pa.RecordBatch.from_pylist(rows(range(0, 400, 2), 1), SCHEMA)
    for _ in range(2):
        assert sum(part.num_rows for _, part in places.split(batch)) == 200
    assert len(reads) == len(set(reads)) == len(spec.hashes) > 8
