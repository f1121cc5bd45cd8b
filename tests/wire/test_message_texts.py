"""Commit messages as texts: small ones, and all that a job has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from keyfold.wire import message_texts
from keyfold.wire.message_texts import COMPRESSED_FROM, PART_BYTES, Messages, heads, texts_of
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import CommitMessage
from tests.storage import tables


@pytest.fixture
def message(tmp_path: Path) -> CommitMessage:
    return tables.message(tables.table(tmp_path), sequence=7)


def test_none() -> None:
    assert list(texts_of(())) == []
    assert list(Messages(())) == []


def test_few_are_json_as_it_is(message: CommitMessage) -> None:
    (text,) = texts_of([message])
    assert json.loads(text) == [message.to_json()]
    assert list(Messages([text])) == [message]


def test_many_are_compressed_in_parts(message: CommitMessage) -> None:
    draw, (file,) = Random(5), message.files
    names = [f"data-{draw.getrandbits(128):032x}-0.parquet" for _ in range(1000)]
    many = [
        replace(message, bucket=bucket, files=(replace(file, name=name),))
        for bucket, name in enumerate(names)
    ]
    size = len(json.dumps([one.to_json() for one in many], separators=(",", ":")))
    texts = list(texts_of(many))
    assert size // PART_BYTES <= len(texts) <= size // PART_BYTES + 1
    assert max(map(len, texts)) < PART_BYTES / 3
    assert not any(text.startswith("[") for text in texts)
    assert list(Messages(texts)) == many


def test_a_message_of_many_files_is_one_text(message: CommitMessage) -> None:
    large = replace(message, files=message.files * 1000)
    texts = list(texts_of([large, message]))
    assert [len(text) > COMPRESSED_FROM for text in texts] == [False, False]
    assert list(Messages(texts)) == [large, message]


def test_they_are_read_anew_as_often_as_they_are_gone_through(
    message: CommitMessage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_texts, "PART_BYTES", 2000)
    days = [Partition((day // 4,), f"d={day // 4}", f"d={day // 4}") for day in range(9)]
    many = [
        replace(message, partition=day, bucket=n, total_buckets=9) for n, day in enumerate(days)
    ]
    many[5] = replace(many[5], files=(), changelog=message.files * 2)
    found = Messages(texts_of(many))
    assert len([*texts_of(many)]) > 2
    assert [*found] == [*found] == many
    assert (len(found), bool(found), bool(Messages())) == (9, True, False)
    assert (found[0], found[-1], found[2:4]) == (many[0], many[-1], many[2:4])
    with pytest.raises(IndexError):
        found[9]
    assert [*heads(found)] == [*heads(many)]
    assert [*heads(many)][5] == (days[5], 5, 9, 0, 2)
