"""The life of a fork server and its workers, with real processes and no JVM."""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.bridge.channel import Disconnected
from keyfold.bridge.directory import KEPT_LOGS
from keyfold.questions.driver import ANSWERS
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column
from tests.bridge import tables
from tests.bridge.client import PATIENCE, Server, eventually, is_running, server

BIG = [tables.rows(n * 100_000, 100_000) for n in range(40)]


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    """A server that all tests of this file share, except those that end it."""
    with server() as started:
        yield started


@pytest.fixture
def running(shared: Server) -> Iterator[Server]:
    """The shared server; the test's connections are closed after it."""
    yield shared
    shared.leave()


def test_ready_names_what_runs(running: Server) -> None:
    assert running.answer["ready"] is True
    assert running.answer["pid"] == running.process.pid
    assert running.answer["executable"] == sys.executable
    assert running.answer["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")


def test_the_driver_names_the_questions_that_may_be_asked_twice(running: Server) -> None:
    named = (running.connect("driver").hello or {})["ok"]["repeatable"]
    assert set(named) <= set(ANSWERS)
    assert "plan_scan" in named
    assert not [name for name in named if name.startswith(("commit", "create", "drop", "alter"))]


def test_the_server_has_one_thread(running: Server) -> None:
    assert len(list(Path(f"/proc/{running.process.pid}/task").iterdir())) == 1


SLOW = """
import sys, time
from pathlib import Path
from keyfold.bridge import start
def loading():
    while not Path(sys.argv[1], "go").exists():
        time.sleep(0.01)
        yield
    time.sleep(0.5)
    Path(sys.argv[1], "loaded").touch()
start.loading = loading
start.main()
"""


def test_workers_and_nobody_else_wait_for_what_they_share(tmp_path: Path) -> None:
    with server(program=("-c", SLOW, str(tmp_path))) as loads:
        assert "ok" in (loads.connect("driver").hello or {})
        assert not (tmp_path / "loaded").exists()
        (tmp_path / "go").touch()
        assert loads.connect().pid
        assert (tmp_path / "loaded").exists()


def test_rows_go_in_and_come_out(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    written = tables.write(worker, table, [tables.rows(10, 5), tables.rows(0, 10)])
    assert worker.ask("read", **tables.read_question(table, written)) == {"ok": {}}
    assert worker.rows().to_pydict() == {"id": list(range(15)), "value": list(range(0, 30, 2))}
    trailer = worker.receive()
    assert trailer is not None
    assert trailer["ok"]["metrics"]["rows"] == 15
    assert trailer["ok"]["metrics"]["rows_in"] == 15
    assert trailer["ok"]["metrics"]["files"] == 1


def test_a_worker_is_used_again(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    questions = [tables.read_question(table, tables.write(worker, table, BIG[:1]))] * 3
    for question in questions:
        assert worker.ask("read", **question) == {"ok": {}}
        assert worker.rows().num_rows == 100_000
        assert "metrics" in (worker.receive() or {})["ok"]
    assert is_running(worker.pid)


def test_a_write_that_may_not_commit_leaves_no_file(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    answer = tables.write(running.connect(), table, BIG[:2], commit=False)
    assert answer["ok"]["tasks"] == []
    assert tables.data_files(table) == []


def test_an_error_leaves_the_worker_usable(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    question = tables.read_question(table, tables.write(worker, table, BIG[:1]))
    (stored,) = tables.data_files(table)
    hidden = stored.rename(tmp_path / "elsewhere")
    error = worker.ask("read", **question)["error"]
    assert stored.name in error["message"]
    assert error["traceback"] is None, "an error of ours says what to do"
    hidden.rename(stored)
    assert worker.ask("read", **question) == {"ok": {}}
    assert worker.rows().num_rows == 100_000


def test_a_wrong_type_is_an_error_after_the_rows(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    tables.begin_write(worker, table)
    strange = pa.record_batch({"id": ["a", "b"], "value": ["c", "d"]})
    worker.send_batches(strange.schema, iter([strange]))
    worker.send({"commit": True})
    assert "error" in (worker.receive() or {})
    assert tables.data_files(table) == []
    assert "ok" in tables.write(worker, table, BIG[:1])


def test_an_unknown_question_is_refused(running: Server) -> None:
    error = running.connect().ask("sing")["error"]
    assert error["kind"] == "EnvironmentMismatchError"
    assert "'sing'" in error["message"]


def test_a_wrong_token_gets_no_worker(running: Server) -> None:
    before = running.processes()
    assert running.connect(token="guess").hello is None
    assert running.processes() <= before


@pytest.mark.parametrize(
    "bytes_sent", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">I", 4) + b"null", b"\0\0"]
)
def test_garbage_instead_of_a_greeting_is_closed(running: Server, bytes_sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(running.directory / "fork.sock"))
        connection.sendall(bytes_sent)
        connection.shutdown(socket.SHUT_WR)
        assert is_closed(connection)
    assert "ok" in (running.connect().hello or {})


def is_closed(connection: socket.socket) -> bool:
    """Whether the peer has closed the connection; reset, where it had not read everything."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_garbage_instead_of_a_question_ends_the_worker(running: Server) -> None:
    worker = running.connect()
    worker.connection.sendall(struct.pack(">I", 7) + b"garbage")
    assert "expected JSON" in (worker.receive() or {})["error"]["message"]
    assert worker.receive() is None
    assert "exit code 1" in worker.log.read_text()


def test_a_killed_worker_leaves_its_fate(running: Server, tmp_path: Path) -> None:
    worker = running.connect()
    tables.begin_write(worker, tables.layout(tmp_path))
    os.kill(worker.pid, signal.SIGKILL)
    assert worker.receive() is None
    said = worker.log.read_text().splitlines()
    assert said[-1] == f"worker {worker.pid} ended: killed by signal 9 (SIGKILL)"
    assert not (running.directory / f"scratch-{worker.pid}").exists()


def test_a_crash_leaves_its_stack(running: Server) -> None:
    worker = running.connect()
    os.kill(worker.pid, signal.SIGSEGV)
    assert worker.receive() is None
    assert "Segmentation fault" in worker.log.read_text()
    assert "(SIGSEGV)" in worker.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_worker_that_may_have_run_out_of_memory_names_the_option(
    running: Server, number: int
) -> None:
    worker = running.connect(memory=128 << 20)
    os.kill(worker.pid, number)
    assert worker.receive() is None
    assert worker.log.read_text().splitlines()[-1].endswith("raise spark.keyfold.worker.memory")


def test_a_reader_that_leaves_frees_its_worker(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    worker.ask("read", **tables.read_question(table, tables.write(worker, table, BIG)))
    worker.connection.recv(1000)
    worker.close()
    assert eventually(lambda: not is_running(worker.pid))
    assert eventually(lambda: not worker.log.exists())


@pytest.mark.parametrize("batches", [0, 3, 40])
def test_a_writer_that_leaves_frees_its_worker_and_files(
    running: Server, tmp_path: Path, batches: int
) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    tables.begin_write(worker, table)
    if batches:
        worker.send_batches(BIG[0].schema, iter(BIG[:batches]))
    worker.close()
    assert eventually(lambda: not is_running(worker.pid))
    assert tables.data_files(table) == []


def test_too_little_memory_names_the_setting(running: Server, tmp_path: Path) -> None:
    """A text of twice the cap; what is smaller, a worker spills."""
    table = tables.layout(tmp_path)
    text = Column(2, "text", paimon_types.from_paimon("STRING"))
    table = replace(table, columns=(*table.columns, text))
    row = BIG[0].slice(0, 1).append_column("text", pa.array(["x" * (320 << 20)]))
    worker = running.connect(memory=160 << 20)
    tables.begin_write(worker, table)
    try:
        worker.send_batches(row.schema, iter([row]))
        worker.send({"commit": True})
    except Disconnected:
        pass
    assert "spark.keyfold.worker.memory" in (worker.receive() or {})["error"]["message"]
    worker.close()
    assert eventually(lambda: not is_running(worker.pid))
    assert eventually(lambda: not worker.log.exists())


def test_a_worker_does_without_pandas(running: Server, tmp_path: Path) -> None:
    table = tables.layout(tmp_path)
    worker = running.connect()
    worker.ask("read", **tables.read_question(table, tables.write(worker, table, BIG[:1])))
    assert worker.rows().num_rows == 100_000
    loaded = Path(f"/proc/{worker.pid}/maps").read_text()
    assert "pyarrow" in loaded
    assert "pandas" not in loaded


def test_logs_of_dead_workers_are_bounded(running: Server) -> None:
    dead = [running.connect() for _ in range(KEPT_LOGS + 3)]
    for worker in dead:
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.receive() is None
    assert "SIGKILL" in dead[-1].log.read_text()
    assert len([worker for worker in dead if worker.log.exists()]) == KEPT_LOGS


def test_a_cap_that_can_not_work_is_refused(running: Server) -> None:
    hello = running.connect(memory=1 << 20).hello
    assert hello is not None
    assert "spark.keyfold.worker.memory is 1048576 bytes" in hello["error"]["message"]


def test_nothing_is_left_when_the_parent_goes(tmp_path: Path) -> None:
    with server() as started:
        workers = [started.connect() for _ in range(3)]
        tables.begin_write(workers[0], tables.layout(tmp_path))
        processes = started.processes()
        assert len(processes) == 4
    assert not any(is_running(pid) for pid in processes)
    assert not started.directory.exists()


def test_sigterm_ends_it_all() -> None:
    with server() as started:
        started.connect()
        processes = started.processes()
        started.process.terminate()
        assert started.wait() == 0
        assert not any(is_running(pid) for pid in processes)
        assert not started.directory.exists()


def test_a_killed_server_takes_its_workers_along() -> None:
    """Its folder goes with the next server beside it."""
    with tempfile.TemporaryDirectory() as home, server(home) as started:
        workers = [started.connect(), started.connect()]
        started.process.kill()
        started.wait()
        assert all(eventually(lambda w=w: not is_running(w.pid)) for w in workers)  # type: ignore[misc]
        assert started.directory.exists()
        with server(home):
            assert not started.directory.exists()


def test_another_version_is_refused() -> None:
    with server(version="0.0.9") as started:
        error = started.answer["error"]
        assert error["kind"] == "EnvironmentMismatchError"
        for part in ("0.0.9", sys.executable, "jar-path", "pip install keyfold==0.0.9"):
            assert part in error["message"]
        assert started.wait() == 1


def test_another_protocol_is_refused() -> None:
    with server(protocol=99) as started:
        assert "protocol 99" in started.answer["error"]["message"]


def test_what_it_says_after_it_is_ready_is_in_its_directory(running: Server) -> None:
    for descriptor in (1, 2):
        file = Path(f"/proc/{running.process.pid}/fd/{descriptor}").readlink()
        assert file == running.directory / "server.err"


def test_a_person_who_starts_it_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keyfold.bridge"],
        input="hello\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "is started by keyfold's jar" in done.stdout
    assert done.returncode == 1
