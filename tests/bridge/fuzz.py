"""Malformed input to a worker: `python -m tests.bridge.fuzz --inputs 1000000`.

A process with a worker's cap serves conversations whose frames are damaged, one after another, by
the loop of a real worker: one in eight with its real answers, one in eight at the door (greeting
and handshake), the others with answers that only take what is sent. Each must end, by an answer, an
error or a hang-up; none may crash, take longer than PATIENCE, change anything outside its folder,
or leave a file that no answer names.
"""

import argparse
import json
import mmap
import os
import random
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyfold.bridge import frames, handshake, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.bridge.handshake import Arrival
from keyfold.errors import EnvironmentMismatchError, KeyfoldError
from keyfold.questions import executor
from keyfold.questions.serve import Answer, plain, serve
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.message_texts import Messages
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import CompactionSpec, ScanSpec, Split, Task, WriteSpec
from keyfold.write.writer import write
from tests.bridge.mutations import Conversation, mutated
from tests.bridge.test_memory import files_of

PATIENCE = 60.0
CAP = 192 << 20
MOST_FINDINGS = 20
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
OPEN_FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.symlink", "os.truncate")
KINDS: tuple[tuple[str, Any], ...] = (
    ("k", "BIGINT NOT NULL"),
    ("t", "STRING"),
    ("d", "DECIMAL(20, 2)"),
    ("l", {"type": "ARRAY", "element": "STRING"}),
    ("m", {"type": "MAP", "key": "STRING", "value": "INT"}),
)


class NotAllowed(PermissionError):
    """A damaged question named a place outside the folder."""


@dataclass
class Figures:
    """What became of the inputs, and what should not have happened."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        """Count what another process found."""
        self.outcomes += other.outcomes
        self.findings += other.findings


def corpus(folder: Path) -> list[Conversation]:
    """Conversations as a JVM has them: write, read, compact, a write that may not commit."""
    columns = tuple(Column(i, n, paimon_types.from_paimon(t)) for i, (n, t) in enumerate(KINDS))
    layout = TableLayout("db.t", str(folder), 0, columns, ("k",), (), {"bucket": "1"})
    rows = pa.table(
        {
            "k": list(range(6)),
            "t": ["a", None, "ß", "d" * 40, "", "f"],
            "d": [None] * 6,
            "l": [["x", None], [], None, ["y"], ["z"] * 3, None],
            "m": [[("a", 1)], None, [], [("b", None)], None, [("c", 2), ("d", 3)]],
        },
        layout.arrow_schema,
    )
    runs = []
    for job in range(2):
        spec = WriteSpec(layout, tuple(layout.arrow_schema.names), False, job + 1, f"job {job}")
        runs.append(files_of(write(spec, rows.to_batches())))
    split = Split(UNPARTITIONED, 0, f"{folder}/bucket-0", (tuple(runs),))
    scan = ScanSpec(layout, tuple(layout.arrow_schema.names), {})
    asks_write = {"question": "write", "write": spec.to_json(), "task": {"partition": 0}}
    asks_read = {"question": "read", "scan": scan.to_json(), "splits": [split.to_json()]}
    asks_compact = {
        "question": "compact",
        "compaction": CompactionSpec(layout, {}).to_json(),
        "task": [Task(split, 5, (True,)).to_json()],
    }
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, rows.schema) as out:
        out.write_table(rows, max_chunksize=4)
    sent = stream.getvalue().to_pybytes()
    says = [frames.encode({"commit": said}) for said in (True, False)]
    questions = [frames.encode(asked) for asked in (asks_write, asks_read, asks_compact)]
    written, abandoned = [questions[0], sent, says[0]], [questions[0], sent, says[1]]
    return [
        written,
        abandoned,
        [questions[1]],
        [questions[2]],
        [*written, questions[1], questions[1]],
    ]


def input_of(seed: int, place: int, conversations: Sequence[Conversation]) -> bytes:
    """The input at a place of the endless list that a seed names."""
    return mutated(random.Random(f"{seed}/{place}"), conversations)


def confined(folder: Path) -> None:
    """From now on this process changes nothing outside the folder: damaged paths lead anywhere."""
    inside = f"{folder}/"

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in CHANGES or (event == "open" and arguments[2] & OPEN_FOR_WRITING)
        if not writes or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        if not os.path.realpath(os.fsdecode(arguments[0])).startswith(inside):
            raise NotAllowed(f"{event} {arguments[0]!r} outside {folder}")

    sys.addaudithook(watch)


def outcome(data: bytes, folder: Path, place: int) -> str:
    """What became of one input; AssertionError for what should not happen."""
    if place % 8 == 0:
        before = stored(folder)
        ending, answers = served(data, executor.ANSWERS)
        named = {file["name"] for answer in answers for file in named_files(answer)}
        for path in stored(folder) - before:
            assert path.name in named or ending == "hung up", f"{path} is left, in no answer"
            path.unlink()
        assert before <= stored(folder), "files are gone that others read"
        return f"worker: {ending}"
    if place % 8 == 1:
        return f"door: {at_the_door(data)}"
    return f"wire: {served(data, TAKING)[0]}"


def at_the_door(data: bytes) -> str:
    """What the fork server makes of it, as a greeting and as the JVM's first line."""
    try:
        handshake.check(handshake.receive(data.decode(errors="surrogateescape")))
        raise AssertionError("a JVM without the right version was let in")
    except EnvironmentMismatchError:
        pass
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        arrival = Arrival(theirs)
        try:
            assert arrival.receive()
            assert arrival.greeting("the right token") is None
        except (EOFError, KeyfoldError) as e:
            return f"refused, {type(e).__name__}"
    return "a wrong token"


def take(channel: Channel, question: frames.Frame) -> None:
    """Take a stream and a verdict, as a write does."""
    channel.send({"ok": {}})
    try:
        rows = sum(batch.num_rows for batch in channel.receive_batches())
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(e, "taking rows"))
        raise Disconnected(str(e)) from e
    channel.send({"ok": {"rows": rows, "said": channel.receive()}})


TAKING: Mapping[str, Answer] = {"write": take, "read": plain(len), "compact": plain(len)}


def served(data: bytes, by: Mapping[str, Answer]) -> tuple[str, list[dict[str, Any]]]:
    """How a connection ended over which so much came, and what was answered."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        ours.setblocking(False)
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        ending = "answered"
        try:
            serve(Channel(theirs), by)
        except Disconnected:
            ending = "hung up"
        except Exception as e:
            ending = f"refused, {type(e).__name__}"
        theirs.shutdown(socket.SHUT_WR)
        answers = list(answers_of(ours))
    if ending.startswith("refused"):
        assert answers, "an end without a word"
        assert "error" in answers[-1], answers
    last = "error" if answers and "error" in answers[-1] else "nothing" if not answers else "ok"
    return (ending if ending == "hung up" else f"{ending}, last word: {last}"), answers


def stored(folder: Path) -> set[Path]:
    """All files."""
    return {path for path in folder.rglob("*") if path.is_file()}


def named_files(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The files that an answer hands over."""
    said = answer.get("ok") or {}
    told = (message.to_json() for message in Messages(said.get(frames.TASKS, ())))
    messages = [*told, *(one["files"] for one in said.get("done", ()) if "files" in one)]
    return [file for message in messages for file in message["files"]]


def answers_of(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """The frames a worker sent; streams between them are read to their end."""
    connection.setblocking(True)
    channel = Channel(connection)
    while head := connection.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL):
        if head == b"\xff\xff\xff\xff":
            for batch in channel.receive_batches():
                batch.validate(full=True)
            continue
        answer = channel.receive()
        assert answer is not None
        texts = answer.pop(frames.MESSAGES, ())  # the arrays before it
        if texts and "ok" in answer:
            answer["ok"][frames.TASKS] = texts
        assert set(answer) in ({"ok"}, {"error"}), answer
        if "error" in answer:
            assert {"kind", "message", "cause", "traceback"} == set(answer["error"])
        yield answer


def live(folder: Path, seed: int, places: range, at: mmap.mmap, report: int) -> None:
    """A process that serves the inputs of some places, and says at which it is."""
    conversations = corpus(folder)
    confined(folder)
    memory.cap(CAP)
    limit = resource.getrlimit(resource.RLIMIT_DATA)
    figures = Figures()
    for place in places:
        at[:8] = struct.pack("<q", place)
        try:
            figures.outcomes[outcome(input_of(seed, place, conversations), folder, place)] += 1
        except BaseException:
            figures.findings.append(f"input {place} of seed {seed}: {traceback.format_exc()}")
        resource.setrlimit(resource.RLIMIT_DATA, limit)  # who says that it ran out raises it
        if len(figures.findings) >= MOST_FINDINGS:
            break
    said = {"outcomes": figures.outcomes, "findings": figures.findings}
    os.write(report, json.dumps(said).encode())


Life = Callable[[Path, int, range, mmap.mmap, int], None]


def process(seed: int, places: range, life: Life = live) -> Figures:
    """What a process of its own makes of some inputs; where it dies another goes on after that."""
    found = Figures()
    while places and len(found.findings) < MOST_FINDINGS:
        folder = Path(tempfile.mkdtemp(prefix="kf-fuzz-", dir=IN_MEMORY)).resolve()
        at, (out, into) = mmap.mmap(-1, 8), os.pipe()
        at[:8] = struct.pack("<q", places.start)
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(folder.parent / f"{folder.name}.log", os.O_CREAT | os.O_WRONLY), 2)
            try:
                life(folder, seed, places, at, into)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(into)
        status = waited(pid, at)
        log = folder.parent / f"{folder.name}.log"
        if status == 0:
            with os.fdopen(out, "rb") as report:
                said = json.loads(report.read())
            found.add(Figures(Counter(said["outcomes"]), said["findings"]))
            places = range(0)
        else:
            os.close(out)
            (place,) = struct.unpack("<q", at[:8])
            what = f"ended with wait status {status}"
            found.findings.append(f"input {place} of seed {seed}: {what}: {log.read_text()}")
            places = range(place + 1, places.stop)
        log.unlink()
        shutil.rmtree(folder)
    return found


def waited(pid: int, at: mmap.mmap) -> int:
    """The wait status of a process; one that stays at an input longer than PATIENCE is killed."""
    seen, since = at[:8], time.monotonic()
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if at[:8] != seen:
            seen, since = at[:8], time.monotonic()
        if time.monotonic() - since > PATIENCE:
            os.kill(pid, signal.SIGABRT)
        time.sleep(0.05)


def main(description: str | None, run: Callable[[int, range], Figures]) -> int:
    """Run many inputs, or one again; 1 if anything happened that should not."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--first", type=int, default=0, help="the place to begin at")
    asked = parser.parse_args()
    start = time.monotonic()
    found = run(asked.seed, range(asked.first, asked.first + asked.inputs))
    seconds = time.monotonic() - start
    print(f"seed {asked.seed}: {asked.inputs} inputs in {seconds:.0f} s")
    for text, count in found.outcomes.most_common():
        print(f"{count:>9} {text}")
    print(*found.findings, sep="\n")
    return int(bool(found.findings))


if __name__ == "__main__":
    sys.exit(main(__doc__, process))
