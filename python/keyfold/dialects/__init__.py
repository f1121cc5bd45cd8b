"""CREATE TABLE as Doris, StarRocks, Flink, Paimon and Fluss document it, Flink's ALTER TABLE,
Paimon's statements about tags, and rows, arrays, UNNEST and options of Flink's queries, put into
Spark SQL.

Only statements that Spark refuses come here. Texts go in, texts come out.
"""

import contextlib
from dataclasses import dataclass

from keyfold.dialects import doris, flink, flink_alter, queries, tags
from keyfold.dialects.statement import header, render
from keyfold.dialects.tokens import Cursor, SyntaxMismatch, tokens
from keyfold.errors import KeyfoldError, NotSupportedError


@dataclass(frozen=True)
class Translation:
    """The table's name as written, and its statement for Spark or the reason it is refused. A call
    of a procedure (`is_call`) lacks the word CALL and the name of the table's catalog. A query has
    an empty `table`, as it may read several.
    """

    table: tuple[str, ...]
    sql: str | None = None
    refused: str | None = None
    is_call: bool = False


def translate(sql: str) -> Translation | None:
    """The statement for Spark in place of `sql`; None if it is not one of these systems.

    If a recognised statement can't be honoured, the answer is the reason, which names the clause,
    column or type.
    """
    read = tokens(sql, has_escapes=True)
    with contextlib.suppress(SyntaxMismatch):
        table, made, is_call = tags.read(Cursor(read))
        return Translation(table, made, is_call=is_call)
    with contextlib.suppress(SyntaxMismatch):
        return _altered(Cursor(tokens(sql, flink.HAS_ESCAPES)))
    query = queries.read(read, sql)
    if query is not None:
        return Translation((), query)
    try:
        head = header(Cursor(read))
    except SyntaxMismatch:
        return None
    dialect = next((d for d in (flink, doris) if d.speaks(read[head.at :])), None)
    if dialect is None:
        return None
    name = ".".join(head.table)
    cursor = Cursor(tokens(sql, dialect.HAS_ESCAPES), head.at)
    try:
        return Translation(head.table, render(dialect.read(head, cursor, sql)))
    except SyntaxMismatch as wrong:
        reason = f"{wrong}, read as {dialect.SYSTEM}'s CREATE TABLE"
    except KeyfoldError as refused:
        reason = str(refused)
    return Translation(head.table, refused=f"table {name}: {reason}")


def _altered(cursor: Cursor) -> Translation:
    table = flink_alter.table(cursor)
    try:
        return Translation(table, flink_alter.statement(table, cursor))
    except NotSupportedError as refused:
        return Translation(table, refused=f"table {'.'.join(table)}: {refused}")


__all__ = ["Translation", "translate"]
