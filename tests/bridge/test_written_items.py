"""Items of a frame that are JSON already are sent as they are."""

import json
import socket
import threading

import pytest

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.errors import NotSupportedError
from keyfold.questions.serve import Questions, serve


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 2500])
def test_a_frame_has_written_items_as_they_are(count: int) -> None:
    texts = [json.dumps({"n": number, "text": 'ü"\\'}) for number in range(count)]
    answer = {"ok": {"scan": {"a": 1}, "tasks": frames.WrittenItems(texts), "rows": 3}}
    sent = frames.encode(answer)
    assert frames.body_size(sent[:4]) == len(sent) - 4
    found = {"scan": {"a": 1}, "tasks": list(map(json.loads, texts)), "rows": 3}
    assert frames.decode(sent[4:]) == {"ok": found}


def test_other_values_are_no_json() -> None:
    with pytest.raises(TypeError, match="a frame holds JSON"):
        frames.encode({"ok": {1, 2}})


def test_an_answer_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_LIMIT", 100)
    frames.encode({"ok": frames.WrittenItems(["1"] * 10)})
    with pytest.raises(NotSupportedError, match=r"at most 100 bytes, found 2.*partitions"):
        frames.encode({"ok": frames.WrittenItems(["1"] * 100)})


def test_a_connection_serves_on_after_an_answer_above_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The JVM uses it again: its next question may be a commit."""
    questions = Questions()

    @questions.look
    def plan(question: frames.Frame) -> frames.WrittenItems:
        return frames.WrittenItems(["1"] * question["count"])

    ours, theirs = map(Channel, socket.socketpair())
    ours.connection.settimeout(10)
    monkeypatch.setattr(frames, "FRAME_LIMIT", 400)
    serving = threading.Thread(target=serve, args=(theirs, questions), daemon=True)
    serving.start()
    ours.send({"question": "plan", "count": 1000})
    refused = ours.receive()
    assert refused is not None
    assert "expected an answer of at most 400 bytes" in refused["error"]["message"]
    ours.send({"question": "plan", "count": 2})
    assert ours.receive() == {"ok": [1, 1]}
    ours.close()
    serving.join(10)
    assert not serving.is_alive()
    theirs.close()
