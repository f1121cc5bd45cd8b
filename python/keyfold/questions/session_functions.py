"""Users' functions of the session that asks: they are found by name while a question is answered.

The JVM sends what the session has with every question of the driver. The driver puts the part that
a table needs into every scan and write.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from keyfold.authored.sources import Sources
from keyfold.bridge.frames import Frame
from keyfold.options import provided
from keyfold.wire.layout import TableLayout

KEY = "code"


def used_by(question: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Find the functions that a question, a scan or a write brings."""
    return provided.by(Sources.from_json(question.get(KEY)))


def needed(question: Frame, layout: TableLayout) -> dict[str, Any]:
    """The functions that a scan or write of a table brings to the executors."""
    return {KEY: Sources.from_json(question.get(KEY)).for_options(layout.options)}
