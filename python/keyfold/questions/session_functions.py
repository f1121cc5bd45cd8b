"""Users' functions of the session that asks: for the time of a question they are found by name.

The JVM says with every question of the driver what the session has; the driver says with every scan
and write what the table needs of it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from keyfold.authored.sources import Sources
from keyfold.bridge.frames import Frame
from keyfold.options import provided
from keyfold.wire.layout import TableLayout

KEY = "code"


def used_by(said: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Find the functions that a question, a scan or a write brings."""
    return provided.by(Sources.from_json(said.get(KEY)))


def needed(question: Frame, layout: TableLayout) -> dict[str, Any]:
    """What a scan or write of a table brings to the executors."""
    return {KEY: Sources.from_json(question.get(KEY)).for_options(layout.options)}
