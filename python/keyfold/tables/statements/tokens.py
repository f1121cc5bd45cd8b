"""Tokens, by which a program may repeat a write: the table has each of them once."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from keyfold.errors import TableError
from keyfold.options.calls import MERGE_MODE, TRANSACTION_APP, TRANSACTION_VERSION


def _is_token(given: Any) -> bool:
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    name, version = given
    is_whole = isinstance(version, Integral) and not isinstance(version, bool)
    return isinstance(name, str) and bool(name) and is_whole and 0 <= version < 1 << 63


def options_of(
    table: str, token: tuple[str, int] | None, merge_mode: str | None = None
) -> dict[str, str]:
    """The options of a write by what a program gave. Raises TableError if the token is no name with
    a version.
    """
    found = {} if merge_mode is None else {MERGE_MODE: merge_mode}
    if token is None:
        return found
    if not _is_token(token):
        raise TableError(
            f"writing table {table}: expected a token of a name and a version of 0 or more, such "
            f"as ('orders', 7), found {token!r:.100}"
        )
    return found | {TRANSACTION_APP: token[0], TRANSACTION_VERSION: str(int(token[1]))}
