"""Statements that read rows, and what others commit meanwhile: by the keys that they write.

docs/concurrency.md has these lines in its table, and the level in a section of its own.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold import ConflictError
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.storage.metadata.entries import LiveFile
from keyfold.write.keys import shared_keys
from keyfold.write.keys.shared_keys import SharedKeys
from tests.concurrency import jobs
from tests.concurrency.conftest import rows
from tests.concurrency.jobs import Changes
from tests.concurrency.processes import elsewhere

FAR = 1_000_000


def assigned(*pairs: tuple[int, int]) -> list[tuple[int, dict[str, Any]]]:
    """The records of an UPDATE: key, value."""
    return [(UPDATE_AFTER, {"k": key, "v": value}) for key, value in pairs]


def test_scattered_change_during_change(tmp_path: Path) -> None:
    """Each one's keys are between those of the other, and none is in both."""
    folder = str(tmp_path)
    jobs.made(folder)
    jobs.written(folder, [{"k": key, "v": 0} for key in (1, 2, FAR - 1, FAR)])
    job = Changes(folder, assigned((1, 5), (FAR, 5)), "UPDATE").run()
    Changes(folder, assigned((2, 6), (FAR - 1, 6)), "UPDATE").run().commit()
    job.commit()
    assert rows(folder) == {1: 5, 2: 6, FAR - 1: 6, FAR: 5}


def test_insert_of_a_key_during_merge(folder: str) -> None:
    """Both found that the key is not there."""
    job = Changes(folder, [(INSERT, {"k": 7, "v": 1}), *assigned((1, 1))]).run()
    Changes(folder, [(INSERT, {"k": 7, "v": 2})]).run().commit()
    with pytest.raises(ConflictError, match="run the statement again"):
        job.commit()
    assert rows(folder) == {1: 10, 2: 20, 7: 2}


def test_append_during_merge(folder: str) -> None:
    """WHEN NOT MATCHED BY SOURCE THEN DELETE has not seen a row that came meanwhile: it stays."""
    job = Changes(folder, [(DELETE, {"k": 1}), (DELETE, {"k": 2})]).run()
    elsewhere(jobs.written, folder, [{"k": 3, "v": 30}])
    job.commit()
    assert rows(folder) == {3: 30}


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_skew_during_change(tmp_path: Path, level: str) -> None:
    """Each reads what the other writes: SET v = (SELECT max(v) + 1 …) for another key."""
    folder = str(tmp_path)
    jobs.made(folder, keyfold__row_changes__isolation=level)
    jobs.written(folder, [{"k": 1, "v": 10}, {"k": 2, "v": 20}])
    job = Changes(folder, assigned((1, 21)), "UPDATE").run()
    Changes(folder, assigned((2, 21)), "UPDATE").run().commit()
    if level == "snapshot":
        job.commit()
        assert rows(folder) == {1: 21, 2: 21}
        return
    with pytest.raises(ConflictError, match=r"snapshot 2 changed rows after the statement had"):
        job.commit()
    jobs.compacted(folder)
    assert Changes(folder, assigned((1, 22)), "UPDATE").run().commit() is not None
    assert rows(folder) == {1: 22, 2: 21}


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_rollback_during_change(tmp_path: Path, commits: int) -> None:
    """What it has read is gone, also if others have taken the ids of the snapshots since."""
    folder = str(tmp_path)
    jobs.made(folder)
    for value in (1, 2):
        jobs.written(folder, [{"k": 1, "v": value}])
    job = Changes(folder, assigned((1, 3)), "UPDATE").run()
    keyfold.connect(folder).table("t").rollback(snapshot=1)
    for key in range(commits):
        jobs.written(folder, [{"k": 8 + key, "v": 0}])
    with pytest.raises(ConflictError, match="snapshot 2 was rolled back"):
        job.commit()
    assert rows(folder) == {1: 1} | {8 + key: 0 for key in range(commits)}


def test_concurrent_counters_lose_nothing(tmp_path: Path, seed: int) -> None:
    """`v = v + 1` of scattered keys, in four threads, each run again when it is refused."""
    folder, keys = str(tmp_path), range(24)
    jobs.made(folder, num_sorted_run__compaction_trigger="100")
    jobs.written(folder, [{"k": key, "v": 0} for key in keys])

    def count(thread: int) -> list[int]:
        draw, added = Random(f"{seed} {thread}"), [0] * len(keys)
        for _ in range(5):
            some = sorted(draw.sample(keys, 3))
            while not added_to(folder, some):
                pass
            for key in some:
                added[key] += 1
        return added

    with ThreadPoolExecutor(4) as pool:
        sums = [sum(one) for one in zip(*pool.map(count, range(4)), strict=True)]
    assert rows(folder) == dict(enumerate(sums))


def added_to(folder: str, keys: list[int]) -> bool:
    """Whether an UPDATE of these keys was committed."""
    job = Changes(folder, [], "UPDATE")
    before = jobs.rows_of(job.table)
    job.records = assigned(*((key, before[key] + 1) for key in keys))
    try:
        job.run().commit()
    except ConflictError:
        return False
    return True


@pytest.mark.parametrize("few", [0, 1 << 16])
def test_files_that_share_keys(
    tmp_path: Path, seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random files against Python's sets, whether row groups are left out or not."""
    monkeypatch.setattr(shared_keys, "FEW_KEYS", few)
    draw, folder = Random(seed), tmp_path
    columns = {"a": "STRING", "b": "INT", "v": "INT"}
    options = {"bucket": "1", "write-only": "true", "keyfold.row-group.rows": "1024"}
    table = keyfold.connect(folder, threads=1).create_table(
        "t", columns, ["a", "b"], options=options
    )
    held: dict[int, set[tuple[str, int]]] = {}
    for _ in range(6):
        count = draw.choice([1, 3, 3000])
        keys = {
            (draw.choice("xyz") * draw.randrange(9), draw.randrange(20_000)) for _ in range(count)
        }
        number = table.upsert([{"a": a, "b": b, "v": 1} for a, b in keys])
        assert number is not None
        held[number] = keys
    loaded = jobs.table_of(str(folder))
    files = sorted(loaded.live_files(), key=lambda file: file.max_sequence)
    shares = SharedKeys(loaded)
    found = [[shares(one, other) for other in files] for one in files]
    assert found == [[bool(one & other) for other in held.values()] for one in held.values()]
    assert found == [[shares(one, other) for other in files] for one in files]


def test_large_files_pass_for_files_that_share_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_keys, "MOST_ROWS", 1)
    folder = str(tmp_path)
    jobs.made(folder)
    for keys in ((1, 4), (2, 3), (2,)):
        jobs.written(folder, [{"k": key, "v": 0} for key in keys])
    table = jobs.table_of(folder)
    files: list[LiveFile] = sorted(table.live_files(), key=lambda file: file.max_sequence)
    shares = SharedKeys(table)
    assert [shares(files[0], other) for other in files[1:]] == [True, False]


def test_keys_that_went(tmp_path: Path) -> None:
    """The keys of each file beside each two others; some ranges touch at their ends alone."""
    folder, held = str(tmp_path), [{1, 4}, {2, 3}, {4, 9}, {1}, {9}]
    jobs.made(folder)
    for keys in held:
        jobs.written(folder, [{"k": key, "v": 0} for key in keys])
    table = jobs.table_of(folder)
    files = sorted(table.live_files(), key=lambda file: file.max_sequence)
    shares = SharedKeys(table)
    for (one, own), (old, were), (new, are) in product(zip(files, held, strict=True), repeat=3):
        assert shares.went(one, [old], [new]) == bool(own & (were - are)), (own, were, are)
