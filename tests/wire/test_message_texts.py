"""Commit messages as texts: small ones, and all that a job has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from keyfold.wire.message_texts import COMPRESSED_FROM, PART_BYTES, messages_of, texts_of
from keyfold.wire.specs import CommitMessage
from tests.storage import tables


@pytest.fixture
def message(tmp_path: Path) -> CommitMessage:
    return tables.message(tables.table(tmp_path), sequence=7)


def test_none() -> None:
    assert list(texts_of(())) == []
    assert list(messages_of(())) == []


def test_few_are_json_as_it_is(message: CommitMessage) -> None:
    (text,) = texts_of([message])
    assert json.loads(text) == [message.to_json()]
    assert list(messages_of([text])) == [message]


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
    assert max(map(len, texts)) < PART_BYTES / 5
    assert not any(text.startswith("[") for text in texts)
    assert list(messages_of(texts)) == many


def test_a_message_of_many_files_is_one_text(message: CommitMessage) -> None:
    large = replace(message, files=message.files * 300)
    texts = list(texts_of([large, message]))
    assert [len(text) > COMPRESSED_FROM for text in texts] == [False, False]
    assert list(messages_of(texts)) == [large, message]
