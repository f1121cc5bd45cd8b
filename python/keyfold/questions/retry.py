"""Questions that plan a job on the newest snapshot: asked again where it expired meanwhile."""

import functools
from collections.abc import Callable
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.errors import SnapshotExpiredError

_TIMES = 10


def replanned(answer: Callable[[Frame], Any]) -> Callable[[Frame], Any]:
    """The same question; a snapshot that many others followed while it was read is no reason to
    fail.
    """

    @functools.wraps(answer)
    def again(question: Frame) -> Any:
        for _ in range(_TIMES):
            try:
                return answer(question)
            except SnapshotExpiredError:
                continue
        return answer(question)

    return again
