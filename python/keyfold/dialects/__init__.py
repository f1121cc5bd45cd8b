"""CREATE TABLE as Doris, StarRocks, Flink, Paimon and Fluss document it, put into Spark SQL.

Only statements that Spark's own parser refuses come here. Texts go in, texts come out.
"""

from dataclasses import dataclass

from keyfold.dialects import doris, flink
from keyfold.dialects.cursor import Cursor, SyntaxMismatch
from keyfold.dialects.statement import header, render
from keyfold.dialects.tokens import tokens
from keyfold.errors import KeyfoldError


@dataclass(frozen=True)
class Translation:
    """The table's name as written, and its statement for Spark or the reason it is refused."""

    table: tuple[str, ...]
    sql: str | None = None
    refused: str | None = None


def translate(sql: str) -> Translation | None:
    """The statement for Spark in place of `sql`; None if it is not a CREATE TABLE of these systems.

    If a recognised statement can't be honoured, the answer is the reason, which names the clause,
    column or type.
    """
    try:
        read = tokens(sql, has_escapes=True)
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


__all__ = ["Translation", "translate"]
