"""The answers of a commit to a job."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import Snapshot


@dataclass(frozen=True)
class Late:
    """The answer to a job whose rows would come before others that they must follow: it commits
    files with their rows under the numbers from `sequence` on, as planned on the snapshot `seen`,
    which the job `seen_by` has made.
    """

    sequence: int
    seen: int | None = None
    seen_by: str = ""


@dataclass(frozen=True)
class NeedsChangelog:
    """The answer to an overwrite whose changelog is about other files than come and go by it now,
    whose states are `of`: it needs one of the rows of the files `before`, which the snapshot
    `base` names, and `after`.
    """

    of: frozenset[tuple[Any, ...]]
    base: Snapshot | None
    before: Sequence[LiveFile]
    after: Sequence[LiveFile]


@dataclass(frozen=True)
class UnseenKeys:
    """The answer to a job that has to know which of its keys are stored: it commits again when it
    knows that of the snapshot `base`.
    """

    base: Snapshot


# The snapshot of a job, None if nothing changed, or what the job has to do before it commits again.
Answer = int | Late | UnseenKeys | NeedsChangelog | None
