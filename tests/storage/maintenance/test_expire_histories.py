"""Random histories of a table, its tags, branches and consumers, with expiries that die: what is
retained stays whole, and nothing else stays.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.storage.commits import attempts, commit
from keyfold.storage.commits.outcomes import OUTCOMES
from keyfold.storage.maintenance.retained import metadata, pins
from keyfold.storage.table import Table
from tests.draws import draws
from tests.storage import tables
from tests.storage.snapshots import (
    append,
    branch,
    consume,
    data_files,
    die,
    expired,
    ids,
    make,
    manifest_files,
    overwrite,
    tag,
)

# One step of a history: what is done, and a number for it.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["append"] * 3
            + ["overwrite", "upgrade", "tag", "branch", "consume", "expire", "killed", "behind"]
        ),
        st.integers(0, 20),
    ),
    min_size=4,
    max_size=25,
)


@given(steps=STEPS)
@draws(20)
def test_random_histories(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    """Whatever expires and dies when: all that is retained stays whole, and nothing else stays."""
    found = make(tmp_path_factory.mktemp("h"), manifest__merge_min_count="3")
    append(found, tables.message(found))
    whole = 1
    for position, (step, number) in enumerate(steps):
        latest = found.snapshots.latest_id() or 0
        retained = [n for n in ids(found) if n >= whole]
        if step == "append":
            append(found, tables.message(found, bucket=number % 2, files=1 + number % 3))
        elif step == "overwrite":
            overwrite(found, tables.message(found, bucket=number % 2))
        elif step == "upgrade":
            upgrade(found, number)
        elif step == "tag":
            tag(found, retained[number % len(retained)], f"t{position}")
        elif step == "branch":
            branch(found, retained[number % len(retained)], f"b{position}")
        elif step == "consume":
            consume(found, latest - number % 4)
        elif step == "expire":
            expired(found, at_least=1 + number % 3)
        elif step == "killed":
            die(found, number)
            whole = latest  # older ones may have lost files: nobody tags them any more
        else:
            expired(found, at_least=1, limit=1 + number % 2)
        check_whole(found)
    shutil.rmtree(Path(found.layout.location) / "consumer", ignore_errors=True)
    expired(found)
    check_whole(found, exactly=True)


def upgrade(found: Table, number: int) -> None:
    """One live file moves to another level, as a compaction that rewrites nothing does."""
    base = found.snapshots.latest()
    files = found.manifests.live(base).files()
    if not files:
        return
    file = files[number % len(files)]
    record = dict(file.record)
    record["_FILE"] = {**record["_FILE"], "_LEVEL": record["_FILE"]["_LEVEL"] + 1}
    by = attempts.CommitInfo("job", commit.APPEND)
    with found.held() as location:
        attempts.attempt(found, by, base, attempts.Entries([file.deleted(), record]), location)
    OUTCOMES.forget("job")


def check_whole(found: Table, exactly: bool = False) -> None:
    keeping = pins(found)
    latest = found.snapshots.latest()
    others = [*keeping.tags, *keeping.branched]
    # What a dead expiry has begun to take is readable no more, but it is still to be expired.
    held = [latest, *others]
    data = {file.name for snapshot in held for file in found.manifests.live(snapshot)}
    lists = set().union(*(metadata(found.manifests, snapshot) for snapshot in held))
    assert data <= data_files(found)
    assert lists <= manifest_files(found)
    assert ids(found) == list(range(min(ids(found)), latest.id + 1))
    if exactly:
        assert ids(found) == [latest.id]
        assert lists == manifest_files(found)
        if not keeping.branched and not keeping.tags:
            assert data == data_files(found)
