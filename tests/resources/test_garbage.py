"""Garbage is looked for rarely while many objects are made, and as usual at all other times."""

import gc
import os
import threading

import pytest

from keyfold.resources.garbage import makes_many

USUAL = gc.get_threshold()


@makes_many
def seen(inside: bool = False) -> tuple[int, int, int]:
    if inside:
        seen()
    return gc.get_threshold()


def test_within_and_after_a_call() -> None:
    assert seen()[0] > 10 * USUAL[0]
    assert gc.get_threshold() == USUAL
    assert seen(inside=True)[0] > 10 * USUAL[0]
    assert gc.get_threshold() == USUAL

    @makes_many
    def failing() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert gc.get_threshold() == USUAL


def test_the_threshold_of_the_program_comes_back() -> None:
    gc.set_threshold(1234, 5, 6)
    try:
        seen()
        assert gc.get_threshold() == (1234, 5, 6)
    finally:
        gc.set_threshold(*USUAL)


def test_until_the_last_thread_is_done() -> None:
    began, may_end = threading.Event(), threading.Event()

    @makes_many
    def waiting() -> None:
        began.set()
        may_end.wait(60)

    thread = threading.Thread(target=waiting)
    thread.start()
    assert began.wait(60)
    seen()
    assert gc.get_threshold()[0] > 10 * USUAL[0]
    may_end.set()
    thread.join(60)
    assert gc.get_threshold() == USUAL


def test_a_forked_process_looks_as_usual() -> None:
    @makes_many
    def forked() -> int:
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.get_threshold() == USUAL and seen()[0] > USUAL[0] else 1)
        return os.waitpid(child, 0)[1]

    assert forked() == 0
