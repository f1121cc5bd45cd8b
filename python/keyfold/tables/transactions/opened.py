"""The transaction that is open in a thread. Meanwhile the thread makes no commits of other calls,
which would stay if the transaction fails.
"""

from __future__ import annotations

from contextvars import ContextVar

from keyfold.errors import TableError

_OPEN: ContextVar[str | None] = ContextVar("open transaction", default=None)


def begin(table: str) -> None:
    """Note that a transaction of a table is open. Raises TableError if one is already."""
    if (other := _OPEN.get()) is not None:
        raise TableError(
            f"transaction of table {table}: one of table {other} is open in this thread, and "
            f"transactions are not nested; {_instead(table, other)}"
        )
    _OPEN.set(table)


def end() -> None:
    """Note that it has ended."""
    _OPEN.set(None)


def check_none(table: str) -> None:
    """Raises TableError if a table is changed beside a transaction."""
    if (other := _OPEN.get()) is not None:
        raise TableError(
            f"changing table {table}: a transaction of table {other} is open in this thread, and "
            f"this would be a commit of its own, which stays if the transaction fails; "
            f"{_instead(table, other)}"
        )


def _instead(table: str, other: str) -> str:
    if table == other:
        return "call the methods of the transaction: with table.transaction() as t: t.upsert(…)"
    return (
        f"a transaction changes one table: change {table} before or after it, both with a token, "
        "so that a program which was stopped in between can repeat both"
    )
