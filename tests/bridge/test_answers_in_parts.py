"""The tasks of an answer and the messages of a question travel before it, in bounded frames."""

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.questions.serve import Questions, serve
from tests.bridge.client import Worker


@pytest.mark.parametrize("count", [0, 1, 7, 8, 2500])
def test_texts_travel_before_their_answer(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(frames, "PART_BYTES", 100)
    texts = [json.dumps({"n": number, "text": 'ü"\\'}) for number in range(count)]
    answer = {"ok": {"scan": {"a": 1}, frames.TASKS: frames.TaskTexts(texts), "rows": 3}}
    *arrays, last = [body for _, body in frames.pieces(answer)]
    assert frames.decode(last) == {"ok": {"scan": {"a": 1}, frames.TASKS: [], "rows": 3}}
    assert [text for array in arrays for text in json.loads(array)] == texts
    assert len(arrays) <= 1 + count // 2
    assert all(100 <= len(array) < 200 for array in arrays[:-1])
    assert frames.encode(answer).startswith(frames.PREFIX.pack(len((arrays or [last])[0])))


def test_other_values_are_no_json() -> None:
    with pytest.raises(TypeError, match="not JSON"):
        frames.encode({"ok": {1, 2}})


@pytest.fixture
def peers() -> Iterator[tuple[Worker, threading.Thread]]:
    """A connection to a thread that answers the question `plan` with texts of as many letters, and
    fails to make those without.
    """
    questions = Questions()

    @questions.look
    def plan(question: frames.Frame) -> dict[str, object]:
        texts = (f'"{"x" * (1000 // length * length)}"' for length in question["lengths"])
        return {frames.TASKS: frames.TaskTexts(texts), "rows": 3}

    @questions.plain
    def told(question: frames.Frame) -> object:
        return question.get(frames.MESSAGES)

    ours, theirs = socket.socketpair()
    theirs_too = Channel(theirs)
    theirs_too.send({"ok": {"pid": 1}})
    serving = threading.Thread(target=serve, args=(theirs_too, questions), daemon=True)
    serving.start()
    worker = Worker(ours)
    yield worker, serving
    worker.close()
    serving.join(10)
    assert not serving.is_alive()
    theirs_too.close()


def test_answers_of_several_frames(
    monkeypatch: pytest.MonkeyPatch, peers: tuple[Worker, threading.Thread]
) -> None:
    """An error ends an answer whose texts are partly sent, and the connection serves on: its next
    question may be a commit.
    """
    worker, _ = peers
    monkeypatch.setattr(frames, "PART_BYTES", 2500)
    ten = {"tasks": ["x" * 1000] * 10, "rows": 3}
    assert worker.ask("plan", lengths=[1] * 10) == {"ok": ten}
    assert worker.arrays == 4
    failed = worker.ask("plan", lengths=[1] * 10 + [0])["error"]["message"]
    assert "ZeroDivisionError" in failed
    assert worker.arrays == 4 + 3
    assert worker.ask("plan", lengths=[1] * 10) == {"ok": ten}


def test_a_text_above_the_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch, peers: tuple[Worker, threading.Thread]
) -> None:
    worker, _ = peers
    monkeypatch.setattr(frames, "FRAME_LIMIT", 900)
    refused = worker.ask("plan", lengths=[1])["error"]["message"]
    assert "expected an answer of at most 900 bytes" in refused
    monkeypatch.setattr(frames, "FRAME_LIMIT", 1100)
    assert worker.ask("plan", lengths=[1])["ok"]["rows"] == 3


def test_messages_travel_before_their_question(peers: tuple[Worker, threading.Thread]) -> None:
    worker, _ = peers
    texts = [f'{number} ü"' for number in range(2500)]
    assert worker.ask("told", messages=texts) == {"ok": texts}
    assert worker.ask("told") == {"ok": None}  # those of one question are no other's


@pytest.mark.parametrize("body", [b'["a",', b'["a", 1]', b"[[]]", b"1"])
def test_arrays_of_other_values_are_refused(body: bytes) -> None:
    with pytest.raises(frames.MalformedFrameError, match="in a frame, found"):
        frames.decode_texts(body)
