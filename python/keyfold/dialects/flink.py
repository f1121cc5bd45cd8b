"""CREATE TABLE of Flink, in which the documents of Paimon and Fluss are written."""

from collections.abc import Sequence
from itertools import pairwise

from keyfold.dialects import dialect_types
from keyfold.dialects.statement import ColumnText, Header, Statement
from keyfold.dialects.tokens import Cursor, Token
from keyfold.errors import NotSupportedError

SYSTEM = "Flink"
HAS_ESCAPES = False  # a backslash in a text is a backslash
OURS = ("paimon", "fluss", "table-store")  # connectors whose tables these are
_WORDS = {"BYTES", "ROW", "MULTISET", "WATERMARK", "TIMESTAMP_LTZ", "METADATA"}
_NOT_FLINK = {"PROPERTIES", "TBLPROPERTIES", "USING", "AGGREGATE", "ENGINE"}


def speaks(tokens: Sequence[Token]) -> bool:
    """Whether the statement is Flink's: WITH ( … ) after the columns, or a word only it has."""
    pairs = list(pairwise(tokens))
    has_options = any(a.is_word("WITH") and b.is_sign("(") for a, b in pairs)
    is_other = any(token.is_word(word) for token in tokens for word in _NOT_FLINK)
    has_word = any(token.is_word(word) for token in tokens for word in _WORDS)
    has_digits = any(a.is_word("TIMESTAMP") and b.is_sign("(") for a, b in pairs)
    return has_options or ((has_word or has_digits) and not is_other)


def read(header: Header, cursor: Cursor, sql: str) -> Statement:
    """The rest of the statement. Raises NotSupportedError if a clause has no counterpart."""
    columns, key = _body(cursor) if cursor.sees("(") else ([], ())
    comment = cursor.text() if cursor.accept("COMMENT") else None
    properties = _distribution(cursor)
    partitioning: list[str] = []
    if cursor.accept("PARTITIONED", "BY"):
        partitioning = cursor.listed(cursor.name)
    if cursor.accept("WITH"):
        properties |= _options(cursor.properties())
    if cursor.sees("LIKE"):
        raise NotSupportedError("the clause LIKE is not supported, name the columns")
    query = None
    if cursor.accept("AS"):
        query = sql[cursor.next.start :].rstrip().rstrip(";")
    elif cursor.next.kind != "end":
        cursor.fail("WITH or the end")
    return Statement(header, tuple(columns), key, tuple(partitioning), comment, properties, query)


def _body(cursor: Cursor) -> tuple[list[ColumnText], tuple[str, ...]]:
    found = cursor.listed(lambda: _item(cursor))
    keys = [key for _, key in found if key]
    return [column for column, _ in found if column is not None], keys[-1] if keys else ()


def _item(cursor: Cursor) -> tuple[ColumnText | None, tuple[str, ...]]:
    """A column or None for a clause in its place, and the key that either declares."""
    key = _key(cursor)
    if key:
        return None, key
    if cursor.sees("WATERMARK", "FOR"):
        raise NotSupportedError("the clause WATERMARK is not supported: these are batch tables")
    column, is_key = _column(cursor)
    return column, (column.name,) if is_key else ()


def _key(cursor: Cursor) -> tuple[str, ...]:
    """`[CONSTRAINT name] PRIMARY KEY (…) [NOT ENFORCED]`."""
    if cursor.accept("CONSTRAINT"):
        cursor.name()
    if not cursor.accept("PRIMARY", "KEY"):
        return ()
    names = cursor.listed(cursor.name)
    cursor.accept("NOT", "ENFORCED")
    return tuple(names)


def _column(cursor: Cursor) -> tuple[ColumnText, bool]:
    name = cursor.name()
    if cursor.sees("AS"):
        raise NotSupportedError(f"column {name} is computed (AS …), which is not supported")
    try:
        kind = dialect_types.flink(cursor)
    except NotSupportedError as refused:
        raise NotSupportedError(f"column {name}: {refused}") from None
    if cursor.sees("METADATA"):
        raise NotSupportedError(f"column {name} is METADATA, which is not supported")
    is_nullable = cursor.is_nullable()
    is_key = cursor.accept("PRIMARY", "KEY")
    if is_key:
        cursor.accept("NOT", "ENFORCED")
    comment = cursor.text() if cursor.accept("COMMENT") else None
    return ColumnText(name, kind, is_nullable, comment=comment), is_key


def _distribution(cursor: Cursor) -> dict[str, str]:
    """`DISTRIBUTED [BY [HASH] (…)] [INTO n BUCKETS]`."""
    if not cursor.accept("DISTRIBUTED"):
        return {}
    found: dict[str, str] = {}
    if cursor.accept("BY"):
        if cursor.sees("RANGE"):
            raise NotSupportedError("DISTRIBUTED BY RANGE is not supported, use HASH")
        cursor.accept("HASH")
        found["bucket-key"] = ",".join(cursor.listed(cursor.name))
    if cursor.accept("INTO"):
        found["bucket"] = str(cursor.whole())
        cursor.expect("BUCKETS")
    return found


def _options(options: dict[str, str]) -> dict[str, str]:
    connector = options.pop("connector", OURS[0])
    if connector not in OURS:
        raise NotSupportedError(
            f"option connector: expected none or one of {', '.join(OURS)}, found {connector!r}"
        )
    return options
