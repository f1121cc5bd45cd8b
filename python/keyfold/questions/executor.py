"""The life of an executor's worker: one connection, the questions `read`, `read_changes`,
`write`, `compact`, `aggregate`, `group`, `lookup` and `plan_range`.

This module imports all that such a worker needs, so the fork server imports it once, before its
first fork. It never imports pandas, pyspark or modules that only the driver needs.
"""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.abc import MetaPathFinder

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.errors import KeyfoldError
from keyfold.questions.serve import Answer, serve
from keyfold.questions.tasks import aggregate, group, lookup, plan_range, read, rewrite, write
from keyfold.user_functions.sources import is_importing

ANSWERS: Mapping[str, Answer] = {
    "read": read.answer,
    "read_changes": read.answer_changes,
    "write": write.answer,
    "compact": rewrite.answer,
    "aggregate": aggregate.answer,
    "group": group.answer,
    "lookup": lookup.answer,
    "plan_range": plan_range.answer,
}


class WithoutPandas(MetaPathFinder):
    """Keeps pyarrow from importing pandas at the first list it gets, which costs each worker 0.4 s
    and 40 MB for nothing. A user's module may import pandas.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """None; raises ModuleNotFoundError, which pyarrow expects, if the module is pandas."""
        if fullname == "pandas" and not is_importing():
            raise ModuleNotFoundError("keyfold's workers do without pandas", name=fullname)


def live(connection: socket.socket, allowed: int | None, log: str) -> None:
    """Serve one connection until its peer leaves; `allowed` bytes cap the memory."""
    try:
        memory.cap(allowed)
    except KeyfoldError as e:
        with suppress(Disconnected):
            Channel(connection).send(frames.failure(e, "starting a worker"))
        return
    answer(connection, log, ANSWERS)


def answer(connection: socket.socket, log: str, answers: Mapping[str, Answer]) -> None:
    """Greet the peer of a connection and answer its questions until it leaves."""
    sys.meta_path.insert(0, WithoutPandas())
    channel = Channel(connection)
    with suppress(Disconnected):
        channel.send({"ok": {"pid": os.getpid(), "stderr": log}})
        serve(channel, answers)
