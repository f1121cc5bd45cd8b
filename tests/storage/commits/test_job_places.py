"""The buckets of a job are those of its messages, as objects or as texts."""

from dataclasses import replace
from pathlib import Path
from random import Random

from keyfold.storage.commits.job_places import JobPlaces
from keyfold.wire.message_texts import Messages, texts_of
from keyfold.wire.partitions import POSTPONED
from tests.storage import tables


def test_places_are_those_of_the_messages(tmp_path: Path, seed: int) -> None:
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    table, draw = tables.table(tmp_path, new), Random(seed)
    for count in range(8):
        messages = [
            tables.message(
                table,
                partition=(draw.choice([1, 2, None]),),
                bucket=draw.choice([0, 1, POSTPONED]),
                total=draw.choice([2, 3]),
                files=draw.randrange(3),
            )
            for _ in range(count)
        ]
        messages = [replace(one, changelog=one.files[: draw.randrange(3)]) for one in messages]
        found = JobPlaces.of(messages)
        assert found == JobPlaces.of(Messages(texts_of(messages)))
        for values, partition in found.partitions.items():
            of = [one for one in messages if one.partition == partition]
            assert values == partition.values
            assert found.buckets[values] == {one.bucket for one in of}
            with_buckets = [one for one in of if one.bucket != POSTPONED]
            assert found.totals[values] == {one.total_buckets for one in with_buckets}
        assert {*found.partitions.values()} == {one.partition for one in messages}
        assert found.every == {one.total_buckets for one in messages}
        assert found.files == sum(len(one.files) for one in messages)
        assert found.changelog == sum(len(one.changelog) for one in messages)
