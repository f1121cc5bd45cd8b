"""Malformed input to fork server and workers: a bounded part of `python -m tests.bridge.fuzz`."""

import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.bridge import frames
from keyfold.bridge.channel import Disconnected
from tests.bridge import fuzz, tables
from tests.bridge.client import TOKEN, Server, eventually, is_running, server
from tests.bridge.mutations import mutated
from tests.concurrency.processes import elsewhere

INPUTS = 1_500


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """One server for all: nothing that is sent may end it."""
    with server() as started:
        yield started


def test_damaged_conversations_are_refused(seed: int) -> None:
    """Reproduced by `python -m tests.bridge.fuzz --seed … --first … --inputs 1`."""
    found = elsewhere(fuzz.process, seed, range(INPUTS))  # it forks: from one thread
    assert found.findings == []
    assert sum(found.outcomes.values()) == INPUTS
    kinds = {outcome.partition(":")[0] for outcome in found.outcomes}
    assert kinds == {"worker", "door", "wire"}
    assert any(outcome.endswith("last word: ok") for outcome in found.outcomes)


def test_real_workers_end_properly_and_the_server_serves_on(
    running: Server, tmp_path: Path, seed: int
) -> None:
    """The same by real processes: none is killed by a signal, none is left."""
    draw = random.Random(seed)
    conversations = [
        [frames.encode({"question": "write", "write": tables.write_json(tables.layout(tmp_path))})],
        [frames.encode({"question": "sing"})],
    ]
    for _ in range(60):
        worker = running.connect(memory=128 << 20)
        data = mutated(draw, conversations)
        try:
            worker.connection.sendall(data)
            worker.connection.shutdown(socket.SHUT_WR)
            while worker.receive() is not None:
                pass
        except (OSError, Disconnected):
            pass
        worker.close()
        assert eventually(lambda pid=worker.pid: not is_running(pid)), data  # type: ignore[misc]
        assert not worker.log.exists() or "signal" not in worker.log.read_text(), data
    for _ in range(200):
        knock(running.directory / "fork.sock", mutated(draw, [[greeting()]]))
    assert running.connect().hello is not None
    running.leave()
    assert eventually(lambda: running.processes() == {running.process.pid})


def greeting() -> bytes:
    return frames.encode({"token": TOKEN, "role": "worker", "memory": None})


def knock(path: Path, data: bytes) -> None:
    """Send something to the fork server, and leave."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        try:
            connection.sendall(data)
        except BrokenPipeError:  # the first bytes were enough
            return


@pytest.mark.parametrize(
    "said",
    [
        b"[" * 60_000,
        b'{"token": "\\ud800", "role": "worker", "memory": null}',
        b'{"token": "%s", "role": "worker", "memory": "much"}' % TOKEN.encode(),
        b'{"token": "%s", "role": "king", "memory": null}' % TOKEN.encode(),
        b'{"token": "%s", "role": ["worker"], "memory": {}}' % TOKEN.encode(),
    ],
    ids=["deep", "half a surrogate pair", "a size that is none", "a role that is none", "lists"],
)
def test_a_stranger_can_not_end_the_fork_server(running: Server, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(running.directory / "fork.sock"))
        connection.sendall(struct.pack(">I", len(said)) + said)
        assert connection.recv(1) == b""
    assert "ok" in (running.connect().hello or {})
    running.leave()


def test_half_a_surrogate_pair_is_answered(running: Server) -> None:
    error = running.connect().ask("\ud800")["error"]
    assert "\ud800" in error["message"] or "\\ud800" in error["message"]
