"""Processes as /proc shows them: who descends from whom, how much memory each took at most."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PROC = Path("/proc")
BRIDGE = "keyfold.bridge"  # a word by which keyfold's processes are started
DEADLINE = 600.0  # seconds a program of a test may take: it ends what hangs, and decides nothing
PATIENCE = 120.0  # the same for what a running program does
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _parent(pid: int) -> int | None:
    """None of a process that is gone, or a zombie."""
    try:
        state, parent = (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def parents() -> dict[int, int]:
    """Each running process and its parent; zombies left out."""
    pids = (int(folder.name) for folder in PROC.iterdir() if folder.name.isdigit())
    every = ((pid, _parent(pid)) for pid in pids)
    return {pid: parent for pid, parent in every if parent is not None}


def children(*pids: int) -> set[int]:
    """The processes that these started themselves."""
    return {child for child, parent in parents().items() if parent in pids}


def descendants(*pids: int) -> set[int]:
    """Children of processes, their children, and so on."""
    of: dict[int, list[int]] = {}
    for child, parent in parents().items():
        of.setdefault(parent, []).append(child)
    found: set[int] = set()
    waiting = [*pids]
    while waiting:
        new = set(of.get(waiting.pop(), ())) - found
        waiting += new
        found |= new
    return found


def command(pid: int) -> list[str]:
    """The words a process was started with; none if it is gone."""
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def is_worker(pid: int) -> bool:
    """Whether a process is a fork server of keyfold, or was forked by one."""
    return BRIDGE in command(pid)


def workers(jvm: int) -> set[int]:
    """keyfold's processes below a JVM: fork server, driver, workers."""
    return {pid for pid in descendants(jvm) if is_worker(pid)}


def alive(pids: Iterable[int]) -> set[int]:
    """Those of the processes that still run."""
    return {pid for pid in pids if _parent(pid) is not None}


def peak_memory(pid: int) -> int:
    """VmHWM in bytes; 0 if the process is gone."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def reset_peak(pid: int) -> None:
    """Let VmHWM start again from what is resident now."""
    try:
        (PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return


def cpu_seconds(pid: int) -> float:
    """How long a process has computed; 0 if it is gone."""
    try:
        times = (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return 0.0
    return sum(map(int, times)) / TICKS


def wait_until(true: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Ask every 20 ms; whether the answer became true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def kill(pid: int, with_signal: int = signal.SIGKILL) -> None:
    """A signal to one process, which may be gone already."""
    try:
        os.kill(pid, with_signal)
    except ProcessLookupError:
        return
