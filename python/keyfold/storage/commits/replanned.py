"""Planning of jobs on a newest snapshot that may expire meanwhile."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from keyfold.errors import SnapshotExpiredError

_TIMES = 10
Given = ParamSpec("Given")
Made = TypeVar("Made")


def replanned(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """The same function, which plans a job on the newest snapshot. It is called again if that
    snapshot expired while it was read because many others followed.
    """

    @functools.wraps(make)
    def again(*args: Given.args, **named: Given.kwargs) -> Made:
        for _ in range(_TIMES):
            try:
                return make(*args, **named)
            except SnapshotExpiredError:
                continue
        return make(*args, **named)

    return again
