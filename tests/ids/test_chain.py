"""Chains of states, and the ranges of ids that they hand out, in one process and in many."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError, TableError
from keyfold.ids.chain import Chain
from keyfold.ids.id_ranges import Ranges
from keyfold.stores.files import UnsettledError
from keyfold.stores.opened import store_of
from keyfold.types.logical import Atomic
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED

TAKES = 40


def ranges(folder: Path, at_once: int = 10, kind: str = "BIGINT") -> Ranges:
    columns = (Column(0, "k", Atomic("BIGINT", False)), Column(1, "id", Atomic(kind)))
    options = {"auto-increment.fields": "id", "table.auto-increment.cache-size": str(at_once)}
    return Ranges.of(TableLayout("db.t", str(folder), 0, columns, ("k",), (), options))


def numbers(found: list[tuple[int, int]]) -> list[int]:
    return [number for first, last in found for number in range(first, last + 1)]


def take(folder: Path, bucket: int) -> list[int]:
    given: list[int] = []
    for count in range(1, TAKES):
        given += numbers(ranges(folder).take(UNPARTITIONED, bucket, count % 7 + 1))
    return given


def test_a_bucket_uses_its_range_up_before_it_takes_another(tmp_path: Path) -> None:
    own = ranges(tmp_path, at_once=2)
    own.begin(0)
    taken = [numbers(own.take(UNPARTITIONED, b, n)) for b, n in ((0, 1), (1, 1), (0, 1), (0, 1))]
    assert taken == [[1], [3], [2], [5]]
    assert numbers(own.take(UNPARTITIONED, 0, 5)) == [6, 7, 8, 9, 10]
    own.begin(0)  # a table begins once
    assert numbers(own.take(UNPARTITIONED, 1, 1)) == [4]


def test_processes_take_apart(tmp_path: Path) -> None:
    """No number comes twice, though all take of two buckets at once, and few files are kept."""
    ranges(tmp_path).begin(100)
    with ProcessPoolExecutor(4, multiprocessing.get_context("fork")) as pool:
        found = list(pool.map(take, [tmp_path] * 4, [0, 0, 1, 1]))
    every = [number for given in found for number in given]
    assert len(every) == len(set(every)) == 4 * sum(n % 7 + 1 for n in range(1, TAKES))
    assert min(every) == 101
    assert len(list((tmp_path / "auto-increment" / "bucket-0").iterdir())) < 25


def test_numbers_that_may_count_for_the_bucket_are_not_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket has them, and the job that took them does not know it."""
    own, follow, unknown = ranges(tmp_path), Chain.follow, [True]
    own.begin(0)

    def unsettled(chain: Chain, before: Any, state: Any) -> bool:
        done = follow(chain, before, state)
        if chain.folder.endswith("bucket-0") and unknown and unknown.pop():
            raise UnsettledError("no answer")
        return done

    monkeypatch.setattr(Chain, "follow", unsettled)
    given = [number for n in (3, 14) for number in numbers(own.take(UNPARTITIONED, 0, n))]
    assert not unknown
    assert len(set(given)) == len(given) == 17


def test_the_last_number(tmp_path: Path) -> None:
    own = ranges(tmp_path, kind="INT")
    own.begin(2**31 - 5)
    assert numbers(own.take(UNPARTITIONED, 0, 3)) == [2**31 - 4, 2**31 - 3, 2**31 - 2]
    with pytest.raises(TableError, match=r"Reached maximum value of sequence 'id' \(2147483647\)"):
        own.take(UNPARTITIONED, 0, 2)
    assert numbers(own.take(UNPARTITIONED, 0, 1)) == [2**31 - 1]
    (tmp_path / "alone").mkdir()
    alone = ranges(tmp_path / "alone", kind="INT")
    alone.begin(2**31 - 2)
    assert numbers(alone.take(UNPARTITIONED, 0, 1)) == [2**31 - 1]


def test_a_state_that_comes_late_does_not_count(tmp_path: Path) -> None:
    """A process that slept makes a file that others have made and removed."""
    chain = Chain(store_of(str(tmp_path), {}), f"{tmp_path}/c")
    assert chain.follow(None, 1)
    first = chain.newest()
    for number in range(2, 60):
        assert chain.follow(chain.newest(), number)
    assert not (tmp_path / "c" / "2").exists()
    with pytest.raises(UnsettledError):
        chain.follow(first, "late")
    with pytest.raises(UnsettledError):
        chain.follow(None, "late")
    newest = chain.newest()
    assert newest is not None
    assert newest.state == 59
    assert not chain.follow(chain._read(58), "second")


def test_damage_is_named(tmp_path: Path) -> None:
    own = ranges(tmp_path)
    with pytest.raises(CorruptDataError, match="auto-increment/ranges is gone"):
        own.take(UNPARTITIONED, 0, 1)
    own.begin(0)
    (tmp_path / "auto-increment" / "ranges" / "1").write_text("{}")
    with pytest.raises(CorruptDataError, match="expected a state of ids"):
        own.take(UNPARTITIONED, 0, 1)
