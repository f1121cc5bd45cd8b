"""Epochs of streams: each is in the table once, whoever commits in between and whatever expires."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import CorruptDataError, TableError, UnknownOutcomeError
from keyfold.storage.commits import commit, epochs
from keyfold.storage.commits.epochs import STREAMS
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import Epoch, WriteSpec
from tests.draws import draws
from tests.storage import tables


def job(found: Table, epoch: Epoch | None) -> WriteSpec:
    return replace(tables.spec(found), snapshot=found.snapshots.latest_id(), epoch=epoch)


def append(found: Table, epoch: Epoch | None = None) -> int | None:
    return commit.append(found, job(found, epoch), [tables.message(found)])


def append_nothing(found: Table, epoch: Epoch) -> int | None:
    return commit.append(found, job(found, epoch), [])


def rewrite(found: Table, number: int, change: dict[str, object]) -> None:
    """A snapshot's file as another writer may have left it."""
    path = Path(found.snapshots.path(number))
    stored = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in stored.items() if value is not None}))


def foreign(found: Table) -> Snapshot:
    """A commit of another writer, which keeps no properties."""
    number = append(found)
    assert number is not None
    rewrite(found, number, {"properties": None})
    return found.snapshots.read(number)


def expire(found: Table, until: int) -> None:
    earliest = found.snapshots.earliest_id()
    assert earliest is not None
    found.snapshots.remove_expired(earliest, until)


def test_an_epoch_is_committed_once(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    assert append(found, Epoch("q", 0)) == 1
    assert append(found, Epoch("q", 0)) is None
    assert append(found, Epoch("q", 1)) == 2
    with pytest.raises(TableError, match=r"version 0 of 'q' is lower than 1.*expected 1.*txnAppId"):
        append(found, Epoch("q", 0))
    assert append(found, Epoch("other", 0)) == 3
    assert len(tables.reload(found).live_files()) == 3


def test_every_commit_carries_epochs_on(tmp_path: Path) -> None:
    """Also those that have none: batch jobs, overwrites, TRUNCATE, compactions of others' files."""
    found = tables.table(tmp_path)
    append(found, Epoch("q", 7))
    append(found)
    commit.overwrite(found, tables.spec(found), [tables.message(found)], "all")
    live = tables.reload(found).live_files()
    rewritten = [tables.message(found, sequence=live[0].max_sequence)]
    commit.rewrite(found, str(uuid.uuid4()), live, rewritten)
    commit.truncate(found)
    expire(found, 5)
    assert found.snapshots.ids() == [5]
    assert append(found, Epoch("q", 7)) is None
    assert append(found, Epoch("q", 8)) == 6


def test_an_overwrite_of_an_epoch(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    message = tables.message(found)

    def overwrite(number: int) -> int | None:
        return commit.overwrite(found, job(found, Epoch("q", number)), [message], "all")

    assert [overwrite(0), overwrite(0), overwrite(1)] == [1, None, 2]


def test_commits_of_others_drop_epochs(tmp_path: Path) -> None:
    """They are found further back, as long as those snapshots are there."""
    found = tables.table(tmp_path)
    append(found, Epoch("q", 3))
    foreign(found)
    foreign(found)
    assert append(found, Epoch("q", 3)) is None
    append(found)
    expire(found, 4)
    assert append(found, Epoch("q", 3)) is None
    assert append(found, Epoch("q", 4)) == 5


def test_lost_epochs(tmp_path: Path) -> None:
    """Once the snapshots that had them have expired, a stream goes on only if it is told to."""
    found = tables.table(tmp_path)
    append(found, Epoch("q", 3))
    foreign(found)
    expire(found, 2)
    with pytest.raises(UnknownOutcomeError, match=r"epoch 3 of stream q .*accept-lost-epochs"):
        append(found, Epoch("q", 3))
    append(found)
    with pytest.raises(UnknownOutcomeError, match="accept-lost-epochs = true"):
        append(found, Epoch("q", 4))
    assert append(found, Epoch("new", 0)) == 4
    assert append(found, Epoch("new", 1)) == 5
    assert append(found, Epoch("q", 4, accepts_loss=True)) == 6
    assert append(found, Epoch("q", 4)) is None
    assert append(found, Epoch("q", 5)) == 7


def test_an_epoch_without_rows(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    assert append_nothing(found, Epoch("q", 0, is_of_query=True)) is None
    assert append_nothing(found, Epoch("program", 0)) == 1
    assert append(found, Epoch("program", 0)) is None
    overwrite = commit.overwrite(found, job(found, Epoch("program", 1)), [], "all")
    assert (overwrite, found.snapshots.read(2).commit_kind) == (2, "APPEND")


def test_a_first_epoch_without_rows_is_noted_after_a_loss(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    foreign(found)
    foreign(found)
    expire(found, 2)
    assert append_nothing(found, Epoch("q", 0, is_of_query=True)) == 3
    assert append(found, Epoch("q", 1, is_of_query=True)) == 4


def test_old_entries_are_dropped(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(keyfold__streams__time_retained="1 h"))
    append(found, Epoch("q", 3))
    old = int(time.time() * 1000) - 3_700_000
    stored = json.dumps({"last": {"q": [3, old]}, "lost": old})
    rewrite(found, 1, {"properties": {STREAMS: stored}})
    assert append(found, Epoch("q", 3)) is None, "as long as it is there, it counts"
    append(found)
    assert epochs.epochs_of(found, found.snapshots.latest()) == epochs.Epochs()


def test_too_many_streams(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    now = int(time.time() * 1000)
    append(found)
    last = {f"app-{number}": [1, now] for number in range(1000)}
    rewrite(found, 1, {"properties": {STREAMS: json.dumps({"last": last})}})
    assert append(found, Epoch("app-5", 2)) == 2
    with pytest.raises(TableError, match=r"1001 streams .*few txnAppId"):
        append(found, Epoch("another", 1))
    assert append(found) == 3


@pytest.mark.parametrize("text", ["{", "[]", '{"last": {"q": 1}}', '{"last": {"q": ["a", 1]}}'])
def test_a_damaged_property(tmp_path: Path, text: str) -> None:
    found = tables.table(tmp_path)
    append(found)
    rewrite(found, 1, {"properties": {STREAMS: text}})
    with pytest.raises(CorruptDataError, match=STREAMS):
        append(found)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["next", "replay"])),
        st.just(("", "batch")),
        st.just(("", "foreign")),
        st.just(("", "expire")),
    ),
    max_size=12,
)


@draws(12)
@given(steps=STEPS)
def test_any_history(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    """The definition: a dictionary of the last numbers. An epoch is refused only if an entry may be
    lost. (The first of a stream never is.)
    """
    found = tables.table(tmp_path_factory.mktemp("t"))
    done: dict[str, int] = {}
    for stream, step in steps:
        if step == "expire":
            latest = found.snapshots.latest_id()
            if latest is not None:
                expire(found, latest)
        elif step == "batch":
            append(found)
        elif step == "foreign":
            foreign(found)
        else:
            before = done.get(stream, -1)
            number = before + 1 if step == "next" or before <= 0 else before
            try:
                published = append(found, Epoch(stream, number))
            except UnknownOutcomeError:
                latest = found.snapshots.latest()
                assert epochs.epochs_of(found, latest).lost is not None
                assert number > 0
                published = append(found, replace(Epoch(stream, number), accepts_loss=True))
                assert published is not None
                done[stream] = number
                continue
            assert (published is not None) == (number > before)
            done[stream] = max(number, before)
