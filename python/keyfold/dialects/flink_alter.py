"""ALTER TABLE of Flink, in which Paimon's documents change tables, put into Spark SQL.

Forms that both systems have never come here, as Spark reads them.
"""

from collections.abc import Callable

from keyfold.dialects import dialect_types
from keyfold.dialects.statement import names, pairs, text
from keyfold.dialects.tokens import Cursor
from keyfold.errors import NotSupportedError
from keyfold.wire.layout import quoted

# Words behind ADD, DROP and MODIFY that begin another clause, Spark's or Flink's, and no column.
_CLAUSES = ("COLUMN", "COLUMNS", "CONSTRAINT", "DISTRIBUTION", "IF", "PARTITION", "PRIMARY", "TAG")
_WATERMARK = "the clause WATERMARK is not supported: these are batch tables"


def table(cursor: Cursor) -> tuple[str, ...]:
    """The table's name as written. Raises SyntaxMismatch if it is another statement."""
    cursor.expect("ALTER", "TABLE")
    return cursor.path()


def statement(name: tuple[str, ...], cursor: Cursor) -> str:
    """The statement in Spark SQL, by what stands behind the table's name. Raises SyntaxMismatch if
    that is not Flink's, NotSupportedError if it asks for what tables here lack.
    """
    made = _clause(cursor)
    if cursor.next.kind != "end":
        cursor.fail("the end of the statement")
    return f"ALTER TABLE {'.'.join(map(quoted, name))} {made}"


def _clause(cursor: Cursor) -> str:
    if cursor.accept("SET"):
        return f"SET TBLPROPERTIES ({pairs(cursor.properties())})"
    if cursor.accept("RESET"):
        return f"UNSET TBLPROPERTIES ({', '.join(map(text, cursor.listed(cursor.text)))})"
    if cursor.accept("RENAME"):
        old = cursor.name()
        cursor.expect("TO")
        return f"RENAME COLUMN {quoted(old)} TO {quoted(cursor.name())}"
    if cursor.accept("DROP"):
        if cursor.next.is_word("WATERMARK"):  # a column of that name is in backticks
            raise NotSupportedError(_WATERMARK)
        return f"DROP COLUMNS ({names(_one_or_several(cursor, cursor.name))})"
    if cursor.accept("ADD"):
        columns = _one_or_several(cursor, lambda: _column(cursor))
        return f"ADD COLUMNS ({', '.join(columns)})"
    cursor.expect("MODIFY")
    columns = _one_or_several(cursor, lambda: f"{quoted(cursor.next.value)} {_column(cursor)}")
    if len(columns) > 1:
        raise NotSupportedError("MODIFY of several columns is not supported: name one at a time")
    return f"CHANGE COLUMN {columns[0]}"


def _one_or_several(cursor: Cursor, item: Callable[[], str]) -> list[str]:
    if any(map(cursor.next.is_word, _CLAUSES)):
        cursor.fail("a column")
    return cursor.listed(item) if cursor.sees("(") else [item()]


def _column(cursor: Cursor) -> str:
    """`name type [NOT NULL] [COMMENT …] [FIRST | AFTER name]`."""
    if cursor.sees("WATERMARK", "FOR"):
        raise NotSupportedError(_WATERMARK)
    name = cursor.name()
    try:
        made = f"{quoted(name)} {dialect_types.flink(cursor)}"
    except NotSupportedError as refused:
        raise NotSupportedError(f"column {name}: {refused}") from None
    made += "" if cursor.is_nullable() else " NOT NULL"
    if cursor.accept("COMMENT"):
        made += f" COMMENT {text(cursor.text())}"
    if cursor.accept("FIRST"):
        made += " FIRST"
    elif cursor.accept("AFTER"):
        made += f" AFTER {quoted(cursor.name())}"
    return made
