"""Rollbacks of a table in a bucket: beside another with the same token, and where an answer is lost
or refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keyfold.storage.branching.rollback import rollback
from keyfold.storage.history import tags
from keyfold.storage.maintenance import tagging
from keyfold.storage.table import Table
from keyfold.stores import objects
from keyfold.wire.specs import Epoch
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write
from tests.procedures.called import called
from tests.stores import kinds, proxy
from tests.stores.proxy import Answer, Request

EPOCH = Epoch("going back", 1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "PAUSE", 0.001)


@pytest.fixture(scope="module")
def made(moto: Options) -> Options:
    """Those of a catalog that has a table."""
    found = moto | {"warehouse": f"{moto['warehouse']}/rollbacks"}
    jobs.made(found)
    return found


@pytest.fixture
def options(made: Options) -> Options:
    """The same when the table has three snapshots; the first is of key 1 alone."""
    for number in range((jobs.table_of(made).snapshot_id or 0) + 1, 4):
        Write(made, [{"k": number, "v": number}]).run().commit()
    return made


@contextmanager
def behind(options: Options, rule: proxy.Rule) -> Iterator[Table]:
    """The table in a store whose requests a rule sees."""
    with proxy.before(options[kinds.endpoint_of(options)], rule) as endpoint:
        yield jobs.table_of(kinds.at(options, endpoint))


def is_of(request: Request, method: str, number: int) -> bool:
    return request.method == method and request.path.endswith(f"/snapshot/snapshot-{number}")


def removes(request: Request, name: str) -> bool:
    """Whether it removes a file, by itself or as one of several."""
    return f"{name}</Key>".encode() in request.body


def test_rollback_between_reading_and_writing_of_another(options: Options) -> None:
    """The first one's snapshot stays in its place, and the tag that it was given."""
    other, came = jobs.table_of(options), list[int | None]()

    def rule(request: Request) -> None:
        if is_of(request, "PUT", 2) and not came:
            came.append(rollback(other, other.snapshots.read(1), epoch=EPOCH))
            tagging.create(jobs.table_of(options), "late", 2)

    with behind(options, rule) as table:
        assert rollback(table, table.snapshots.read(1), epoch=EPOCH) == 2
    assert came == [2]
    assert other.snapshots.tagged("late") == other.snapshots.latest()
    assert jobs.rows_of(jobs.table_of(options)) == {1: 1}


def test_rollback_that_can_not_remove_a_tag(options: Options) -> None:
    """The others are there again."""
    found = jobs.table_of(options)
    for number in (2, 3):
        tagging.create(found, f"t{number}", number)

    def rule(request: Request) -> Answer | None:
        return Answer(403) if removes(request, "/tag/tag-t3") else None

    with behind(options, rule) as table, pytest.raises(OSError, match=r"removing .*tag-t3 failed"):
        rollback(table, table.snapshots.read(1))
    assert {"t2", "t3"} <= {*tags.names(found)}
    assert sorted(found.snapshots.ids()) == [1, 2, 3]


def test_rollback_before_a_commit_that_can_not_look_below_it(options: Options) -> None:
    """The commit is prepared again, on what the table was rolled back to."""
    other = jobs.table_of(options)
    begun, refused = list[Request](), list[Request]()

    def rule(request: Request) -> Answer | None:
        if is_of(request, "PUT", 4) and not begun:
            begun.append(request)
            rollback(other, other.snapshots.read(1))
        if begun and not refused and is_of(request, "GET", 3):
            refused.append(request)
            return Answer(403)
        return None

    with proxy.before(options[kinds.endpoint_of(options)], rule) as endpoint:
        assert Write(kinds.at(options, endpoint), [{"k": 9, "v": 9}]).run().commit() == 2
    assert refused
    found = jobs.table_of(options)
    assert sorted(found.snapshots.ids()) == [1, 2]
    assert jobs.rows_of(found) == {1: 1, 9: 9}


@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["plain", "token"])
def test_rollback_that_can_not_look_above_what_it_removed(
    options: Options, epoch: Epoch | None
) -> None:
    """All snapshots are there again: none is missing below another."""
    begun, refused = list[Request](), list[Request]()
    before = jobs.rows_of(jobs.table_of(options))

    def rule(request: Request) -> Answer | None:
        if is_of(request, "PUT", 2) or removes(request, "/snapshot/snapshot-2"):
            begun.append(request)
        if begun and not refused and is_of(request, "GET", 3):
            refused.append(request)
            return Answer(403)
        return None

    failed = "reading .*snapshot-3 failed"
    with behind(options, rule) as table, pytest.raises(OSError, match=failed):
        rollback(table, table.snapshots.read(1), epoch=epoch)
    assert refused
    found = jobs.table_of(options)
    assert sorted(found.snapshots.ids()) == [1, 2, 3]
    assert jobs.rows_of(found) == before


@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["plain", "token"])
def test_rollback_that_can_not_put_back_what_a_commit_is_above(
    options: Options, epoch: Epoch | None
) -> None:
    """It tries again before it ends: the commit has all that it was made on below it."""
    begun, refused = list[int | None](), list[Request]()
    before = jobs.rows_of(jobs.table_of(options))

    def rule(request: Request) -> Answer | None:
        if removes(request, "/snapshot/snapshot-3") and not begun:
            begun.append(Write(options, [{"k": 9, "v": 9}]).run().commit())
        if begun and not refused and is_of(request, "PUT", 3):
            refused.append(request)
            return Answer(403)
        return None

    with behind(options, rule) as table, pytest.raises(OSError, match=r"publishing .*snapshot-3"):
        rollback(table, table.snapshots.read(1), epoch=epoch)
    assert (begun, len(refused)) == ([4], 1)
    found = jobs.table_of(options)
    assert sorted(found.snapshots.ids()) == [1, 2, 3, 4]
    assert jobs.rows_of(found) == before | {9: 9}
    rollback(found, found.snapshots.read(3))


@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["plain", "token"])
@pytest.mark.parametrize("goes_on", [False, True], ids=["", "further"])
def test_rollback_that_fails_beside_another(
    options: Options, epoch: Epoch | None, goes_on: bool
) -> None:
    """What it removed stays away: the other has gone back further by then. So it does where it has
    removed what came after that.
    """
    other, came = jobs.table_of(options), list[int | None]()

    def rule(request: Request) -> Answer | None:
        if is_of(request, "GET", 4) and not came and not other.snapshots.exists(3):
            came.append(rollback(other, other.snapshots.read(1), epoch=epoch))
            came.append(Write(options, [{"k": 9, "v": 9}]).run().commit())
            return None if goes_on else Answer(403)
        return Answer(403) if goes_on and came and removes(request, "/snapshot-2") else None

    with behind(options, rule) as table:
        if goes_on and epoch:
            assert rollback(table, table.snapshots.read(1), epoch=epoch) is not None
        else:
            with pytest.raises(OSError, match=r"snapshot-[24] failed"):
                rollback(table, table.snapshots.read(1), epoch=epoch)
    assert came == ([2, 3] if epoch else [1, 2])
    assert sorted(other.snapshots.ids()) == [1, *came[epoch is None :]]
    assert jobs.rows_of(jobs.table_of(options)) == {1: 1, 9: 9}


def test_rollback_to_a_tag_that_can_not_look_above_what_it_removed(options: Options) -> None:
    """Nothing else is there then. The next one goes back."""
    begun, refused, epoch = list[Request](), list[Request](), Epoch("another", 1)
    tagging.create(jobs.table_of(options), "x", 1)
    within = jobs.options_of(options)
    called(jobs.table_of(options), "expire_snapshots", within=within, retain_max=1)
    before = jobs.rows_of(jobs.table_of(options))

    def rule(request: Request) -> Answer | None:
        if removes(request, "/snapshot/snapshot-3"):
            begun.append(request)
        if begun and not refused and is_of(request, "GET", 4):
            refused.append(request)
            return Answer(403)
        return None

    with behind(options, rule) as table:
        target = tags.require(table, "x").snapshot
        with pytest.raises(OSError, match=r"reading .*snapshot-4 failed"):
            rollback(table, target, "x", epoch)
    found = jobs.table_of(options)
    assert (sorted(found.snapshots.ids()), jobs.rows_of(found)) == ([3], before)
    assert rollback(found, target, "x", epoch) == 2
    assert sorted(found.snapshots.ids()) == [1, 2]
    assert jobs.rows_of(jobs.table_of(options)) == {1: 1}
    tagging.delete(found, "x")
