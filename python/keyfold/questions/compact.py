"""The question of the compaction that follows a write (driver side)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.compact.after_write import compact_after_write as compact
from keyfold.questions.serve import Questions, Talk
from keyfold.questions.spark import Spark
from keyfold.storage.metadata.entries import Place
from keyfold.storage.table import open_newest
from keyfold.wire.partitions import Partition

QUESTIONS = Questions()


@QUESTIONS.talk
def compact_after_write(question: Frame, talk: Talk) -> None:
    """Compact the buckets that a write `touched`, as commit_write has them, if it is due; `apart`
    from what the session does next, if it may be, and not if it is `awaited`.
    """
    handle = question["table"]
    newest = partial(open_newest, handle, question["catalog"]["options"])
    touched = frozenset(chain.from_iterable(_places(*one) for one in question["touched"]))
    how = {"awaited": question["awaited"], "apart": question["apart"]}
    compact(Spark(question, talk), newest, handle["location"], touched, **how)


def _places(partition: Any, buckets: Sequence[int]) -> Iterator[Place]:
    values = Partition.from_json(partition).values
    return ((values, bucket) for bucket in buckets)
