"""The meter of a question: sums, maxima, exclusive times, and threads that share it."""

import time
from collections.abc import Iterator

import numpy as np

from keyfold.resources import metering
from keyfold.resources.metering import count, each, metered, reach
from keyfold.resources.threads import ahead

TICK = 0.02
NANOS = 1_000_000_000


def test_nothing_is_gathered_outside_a_question() -> None:
    count("rows_in", 3)
    with metered("decode"):
        pass
    with metering.metering() as meter:
        pass
    assert set(meter.figures()) == {"peak_bytes"}


def test_counts_add_up_and_maxima_stay() -> None:
    with metering.metering() as meter:
        for amount, runs in ((3, 5), (4, 2)):
            count("rows_in", amount)
            reach("runs", runs)
    assert {"rows_in": 7, "runs": 5}.items() <= meter.figures().items()


def test_an_inner_time_is_not_the_outer_ones() -> None:
    start = time.perf_counter_ns()
    with metering.metering() as meter, metered("merge"):
        time.sleep(TICK)
        for _ in range(2):
            with metered("decode"):
                time.sleep(TICK)
    passed, figures = time.perf_counter_ns() - start, meter.figures()
    assert figures["decode_nanos"] >= 2 * TICK * NANOS
    assert figures["merge_nanos"] >= TICK * NANOS
    assert figures["merge_nanos"] + figures["decode_nanos"] <= passed


def test_the_time_of_items_leaves_out_who_takes_them() -> None:
    def items() -> Iterator[int]:
        for item in range(3):
            time.sleep(TICK / 4)
            yield item

    start = time.perf_counter_ns()
    with metering.metering() as meter:
        for _ in each("decode", items()):
            time.sleep(TICK)
    passed = time.perf_counter_ns() - start
    assert meter.figures()["decode_nanos"] <= passed - 3 * TICK * NANOS


def test_a_thread_that_works_ahead_shares_the_meter() -> None:
    def items() -> Iterator[int]:
        for item in range(5):
            count("rows_in", item)
            yield item

    with metering.metering() as meter:
        assert list(ahead(items())) == [0, 1, 2, 3, 4]
    assert meter.figures()["rows_in"] == 10


def test_peak_memory_is_of_one_question() -> None:
    size = 200 << 20

    def peak(held: int) -> int:
        with metering.metering() as meter:
            with metered("decode"):
                block = np.ones(held, dtype=np.uint8)
            del block
            return meter.figures()["peak_bytes"]

    first, small, again = peak(size), peak(1), peak(size)
    assert first - small > size // 2
    assert again - small > size // 2


def test_what_others_measure_is_left_alone() -> None:
    """The kernel's record counts for who watches a worker from outside."""
    np.ones(100 << 20, dtype=np.uint8).sum()
    before = metering.record_bytes()
    with metering.metering():
        pass
    assert metering.record_bytes() >= before
