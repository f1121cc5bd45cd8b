"""The question of the session's parser: a statement of another system in Spark's words.

Driver side, and only where Spark's own parser has refused the statement.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keyfold import dialects
from keyfold.bridge.frames import Frame


def translate(question: Frame) -> dict[str, Any] | None:
    """{"table", "sql"} or {"table", "refused"}; None for what is no CREATE TABLE known here."""
    found = dialects.translate(question["sql"])
    if found is None:
        return None
    return {"table": list(found.table), "sql": found.sql, "refused": found.refused}


QUESTIONS: Mapping[str, Callable[[Frame], Any]] = {"translate": translate}
