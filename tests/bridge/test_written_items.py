"""Items of a frame that are JSON already are sent as they are."""

import json

import pytest

from keyfold.bridge import frames
from keyfold.errors import NotSupportedError


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
