"""Processes of the concurrency tests: forked from a server that has everything imported, so that
one that was killed is replaced in a moment.
"""

import itertools
import multiprocessing
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.concurrency.warmed"])


def elsewhere(job: Callable[..., Any], *args: Any) -> Any:
    """What a job returns in a process of its own; what it raises is raised here."""
    here, there = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_answer, args=(there, job, args))
    process.start()
    there.close()
    error, result = here.recv()
    process.join()
    if error is not None:
        raise error
    return result


def killed_at(step: int, folder: str, job: Callable[..., Any], *args: Any) -> bool:
    """Whether a process that does a job was killed: before the step of that number of those that
    change something on disk below `folder`. False if the job has fewer.
    """
    process = CONTEXT.Process(target=_doomed, args=(step, folder, job, args))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"ended by an error at step {step}"
    return process.exitcode != 0


def left_at_steps(folder: str, kept: Path, job: Callable[..., Any], *args: Any) -> list[str]:
    """What a process that does a job leaves in `folder` if it is killed before each of the steps
    in which it changes something there: copies in another folder, in the order of the steps. The
    last one is what it leaves at its end. One process makes them all, and lives.
    """
    process = CONTEXT.Process(target=_copying, args=(folder, kept, job, args))
    process.start()
    process.join()
    assert process.exitcode == 0, "the job failed"
    return [str(kept / str(step)) for step in range(len(list(kept.iterdir())))]


def meanwhile(
    folder: str,
    event: str,
    other: Callable[[], Any],
    job: Callable[..., Any],
    *args: Any,
    before: int = 1,
) -> Any:
    """What a job returns, in a process of its own, where `other` runs whole right before its first
    step of that kind (`os.link` publishes, `os.rename` drops), or before the step of that kind with
    the number `before`; what it raises is raised here.
    """
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_waiting, args=(there, folder, (event, before), job, args))
    process.start()
    there.close()
    assert here.recv() is None, "the job took no such step"
    other()
    here.send(None)
    error, result = here.recv()
    process.join()
    if error is not None:
        raise error
    return result


def _waiting(
    connection: Connection,
    folder: str,
    event: tuple[str, int],
    job: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    name, left = event

    def wait(seen: str, path: str) -> None:
        nonlocal left
        left -= seen == name
        if seen == name and left == 0:
            connection.send(None)
            connection.recv()

    before_change(folder, wait)
    _answer(connection, job, args)


def _doomed(step: int, folder: str, job: Callable[..., Any], args: tuple[Any, ...]) -> None:
    before_change(folder, _Countdown(step))
    job(*args)


def _copying(folder: str, kept: Path, job: Callable[..., Any], args: tuple[Any, ...]) -> None:
    steps = itertools.count()

    def keep(*_: Any) -> None:
        shutil.copytree(folder, kept / str(next(steps)))

    before_change(folder, keep)
    job(*args)
    keep()


@dataclass
class _Countdown:
    left: int

    def __call__(self, event: str, path: str) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


_CHANGES = ("os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
_HELD = "/proc/self/fd/"


def before_change(folder: str, call: Callable[[str, str], None]) -> None:
    """Call back, with its name and path, before each step of this process that makes, links,
    renames or removes something below `folder`, until the process ends.
    """

    def hook(event: str, args: tuple[Any, ...]) -> None:
        writes = event == "open" and args[2] is not None and args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in _CHANGES or writes:
            path = os.fsdecode(args[0]) if isinstance(args[0], str | bytes | os.PathLike) else ""
            if path.startswith((f"{folder}/", _HELD)):
                call(event, path)

    sys.addaudithook(hook)


def _answer(connection: Connection, job: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        connection.send((None, job(*args)))
    except Exception as error:
        connection.send((error, None))


@dataclass
class Crew:
    """Processes that play roles for ever: `role(folder, name, life)`; killed ones are replaced."""

    folder: str
    playing: dict[tuple[Callable[..., None], str], tuple[BaseProcess, int]] = field(
        default_factory=dict
    )
    killed: int = 0

    def hire(self, role: Callable[..., None], name: str, life: int = 0) -> None:
        """Start a process."""
        process = CONTEXT.Process(target=_play, args=(role, self.folder, name, life), daemon=True)
        process.start()
        self.playing[role, name] = process, life

    def kill_one(self, draw: random.Random) -> None:
        """SIGKILL to one of them, and another in its place."""
        self.check()
        role, name = draw.choice(list(self.playing))
        process, life = self.playing[role, name]
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        self.killed += 1
        self.hire(role, name, life + 1)

    def check(self) -> None:
        """None has ended by itself."""
        ended = [name for (_, name), (process, _) in self.playing.items() if not process.is_alive()]
        assert not ended, f"ended by an error: {', '.join(ended)}"

    def dismiss(self) -> None:
        """Kill all."""
        for process, _ in self.playing.values():
            process.kill()
        for process, _ in self.playing.values():
            process.join()


def _play(role: Callable[..., None], folder: str, name: str, life: int) -> None:
    try:
        role(folder, name, life)
    except BaseException:
        traceback.print_exc()
        raise
