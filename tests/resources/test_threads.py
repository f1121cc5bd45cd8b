"""Threads that are stopped end at once, whatever they wait for."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest

from keyfold.resources import threads


def working() -> AbstractContextManager[None]:
    return nullcontext()


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is woken by nothing but the clock makes its test fail by time-out."""
    monkeypatch.setattr(threads, "_LOOK_SECONDS", 3600)


def test_threads_that_wait_for_items_end_with_an_error_of_the_items() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    found = threads.fanned(items(), lambda item: item, list, 4, working)
    assert [str(one) for one in found] == ["no more"]


def test_threads_that_wait_for_items_end_with_an_error_of_one() -> None:
    def run(items: Iterator[int]) -> int:
        for item in items:
            raise ValueError(item)
        return 0

    found = threads.fanned(iter(range(100)), lambda item: item % 2, run, 8, working)
    assert {type(one) for one in found if not isinstance(one, int)} == {ValueError}


def test_threads_that_wait_for_room_end_with_their_consumer() -> None:
    begun = threading.Barrier(3)

    def made() -> Iterator[int]:
        begun.wait()
        yield from range(100)

    found = threads.streamed([made] * 3, 3, working)
    assert next(found) == 0
    before = threading.active_count()
    found.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before - 3


def test_all_items_come() -> None:
    def run(items: Iterator[int]) -> int:
        return sum(items)

    found = threads.fanned(iter(range(1000)), lambda item: item % 3, run, 3, working)
    assert sum(one for one in found if isinstance(one, int)) == sum(range(1000))
