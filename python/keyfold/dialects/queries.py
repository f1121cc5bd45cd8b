"""Forms of Flink's queries and INSERTs that Spark does not read: rows, arrays and maps in brackets,
UNNEST, types that only Flink has and options in a hint; and SET of a quoted name.

Only these places of a text are changed, each by its own form; all else stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from keyfold.dialects import dialect_types
from keyfold.dialects.statement import pairs
from keyfold.dialects.tokens import HINT, Cursor, SyntaxMismatch, Token
from keyfold.dialects.tokens import tokens as tokens_of
from keyfold.errors import NotSupportedError

FIRST = ("INSERT", "SELECT", "WITH", "EXPLAIN")
UNNEST = "keyfold_unnest"  # the session extension's table function
_TYPES = ("ROW", "BYTES", "TIMESTAMP_LTZ")
_BEFORE_VALUES = ("SELECT", "VALUES", "DISTINCT", "ALL", "THEN", "ELSE")
Change = tuple[int, int, str]  # a stretch of the text, and what takes its place


def read(tokens: Sequence[Token], sql: str) -> str | None:
    """The statement in Spark's words; None if it has none of these forms."""
    first = tokens[0]
    if first.is_word("SET"):
        return _setting(Cursor(tokens, 1))
    if not any(map(first.is_word, FIRST)):
        return None
    made, end = "", 0
    for start, stop, put in sorted(_changes(tokens), key=lambda change: (change[0], -change[1])):
        if start >= end:  # else it is within a type
            made += sql[end:start] + put
            end = stop
    return made + sql[end:] if end else None


def _setting(cursor: Cursor) -> str | None:
    """`SET 'name' = 'value'`, as Spark's setting of that name."""
    try:
        name = cursor.text()
        cursor.expect("=")
        value = cursor.text()
    except SyntaxMismatch:
        return None
    if cursor.next.kind != "end" or "`" in name + value:
        return None
    return f"SET `{name}` = `{value}`"


def _changes(tokens: Sequence[Token]) -> Iterator[Change]:
    for at, (before, token) in enumerate(pairwise(tokens), start=1):
        cursor = Cursor(tokens, at)
        if token.kind == HINT:
            yield from _hint(token)
        elif before.is_sign("."):
            continue
        elif cursor.sees("ROW", "(") and _is_value(tokens, at):
            yield token.start, token.start + len(token.value), "STRUCT"
        elif cursor.sees("ARRAY", "[") or (cursor.sees("MAP", "[") and _has_pair(tokens, at + 1)):
            yield from _brackets(tokens, at + 1)
        elif cursor.sees("UNNEST", "(") and (before.is_sign(",") or before.is_word("JOIN")):
            yield token.start, token.start + len(token.value), f"LATERAL {UNNEST}"
        elif cursor.sees("CAST", "("):
            yield from _cast(tokens, at + 1)


def _hint(token: Token) -> Iterator[Change]:
    """Options of one table, `/*+ OPTIONS('a' = 'b') */`, as Spark has them behind its name."""
    cursor = Cursor(tokens_of(token.value[token.value.index("(") : -len("*/")], has_escapes=False))
    try:
        options = cursor.properties()
    except SyntaxMismatch:
        return
    made = f"WITH ({pairs(options)})" if options else ""
    yield token.start, token.start + len(token.value), made


def _is_value(tokens: Sequence[Token], at: int) -> bool:
    """Whether `ROW (…)` is a value here, and not a table's or WITH query's name and columns."""
    before, end = tokens[at - 1], _end(tokens, at + 1)
    if end is None or Cursor(tokens, end + 1).sees("AS", "("):
        return False
    return any(map(before.is_sign, "([,")) or any(map(before.is_word, _BEFORE_VALUES))


def _brackets(tokens: Sequence[Token], begin: int) -> Iterator[Change]:
    """`[…]` as `(…)`."""
    end = _end(tokens, begin)
    if end is not None and tokens[end].is_sign("]"):
        yield tokens[begin].start, tokens[begin].start + 1, "("
        yield tokens[end].start, tokens[end].start + 1, ")"


def _has_pair(tokens: Sequence[Token], begin: int) -> bool:
    """Whether a comma is between these brackets, and not in others: `map[k]` may be an element."""
    inner = range(begin + 1, _end(tokens, begin) or begin)
    depths = accumulate(_depth(tokens[at]) for at in inner)
    return any(d == 0 and tokens[at].is_sign(",") for at, d in zip(inner, depths, strict=True))


def _cast(tokens: Sequence[Token], begin: int) -> Iterator[Change]:
    """The type of a CAST that only Flink has."""
    end = _end(tokens, begin)
    if end is None:
        return
    last = next((at for at in range(end, begin, -1) if tokens[at].is_word("AS")), None)
    if last is None or not _is_flink(tokens[last + 1 : end + 1]):
        return
    cursor = Cursor(tokens, last + 1)
    try:
        kind = dialect_types.flink(cursor)
    except (SyntaxMismatch, NotSupportedError):
        return
    if cursor.at == end:
        yield tokens[last + 1].start, tokens[end].start, kind


def _is_flink(tokens: Sequence[Token]) -> bool:
    has_word = any(token.is_word(word) for token in tokens for word in _TYPES)
    return has_word or any(
        a.is_word("TIMESTAMP" if b.is_sign("(") else "VARCHAR") for a, b in pairwise(tokens)
    )


def _end(tokens: Sequence[Token], begin: int) -> int | None:
    """The place of the bracket that ends the one at `begin`; None if there is not one. `<` and `>`
    are signs of comparison, too, so that only round and square brackets count.
    """
    depth = 0
    for at in range(begin, len(tokens)):
        depth += _depth(tokens[at])
        if depth == 0:
            return at
    return None


def _depth(token: Token) -> int:
    return any(map(token.is_sign, "([")) - any(map(token.is_sign, ")]"))
