"""`ALTER TABLE … TAG` and `SHOW TAGS`, Paimon's statements, as calls of procedures and a query."""

from keyfold.dialects.statement import text
from keyfold.dialects.tokens import Cursor
from keyfold.wire.layout import quoted

_UNITS = {"DAYS": "d", "HOURS": "h", "MINUTES": "min"}


def read(cursor: Cursor) -> tuple[tuple[str, ...], str, bool]:
    """The table's name as written, the statement in Spark SQL, and whether that is a call, which
    lacks the word CALL and the catalog's name.
    """
    if cursor.accept("SHOW", "TAGS"):
        table = cursor.path()
        _end(cursor)
        name = ".".join(map(quoted, (*table[:-1], f"{table[-1]}$tags")))
        return table, f"SELECT tag_name AS tag FROM {name} ORDER BY tag", False
    cursor.expect("ALTER", "TABLE")
    table = cursor.path()
    procedure, arguments = _clause(cursor)
    _end(cursor)
    shown = text(".".join(map(quoted, table)))
    return table, f"sys.{procedure}({', '.join([f'table => {shown}', *arguments])})", True


def _end(cursor: Cursor) -> None:
    if cursor.next.kind != "end":
        cursor.fail("the end of the statement")


def _clause(cursor: Cursor) -> tuple[str, list[str]]:
    """A procedure and its arguments after the table."""
    if cursor.accept("RENAME", "TAG"):
        old = _tag(cursor)
        cursor.expect("TO")
        return "rename_tag", [old, _tag(cursor, "target_tag")]
    if cursor.accept("DELETE", "TAG"):
        if_exists = cursor.accept("IF", "EXISTS")
        return "delete_tag", [_tag(cursor), f"if_exists => {str(if_exists).lower()}"]
    if cursor.accept("CREATE", "TAG"):
        may_exist = cursor.accept("IF", "NOT", "EXISTS")
        made = [_tag(cursor), *_options(cursor)]
        return "create_tag", [*made, *(["if_not_exists => true"] if may_exist else [])]
    may_be_new = cursor.accept("CREATE", "OR")
    cursor.expect("REPLACE", "TAG")
    made = [_tag(cursor), *_options(cursor)]
    return "replace_tag", [*made, *(["or_create => true"] if may_be_new else [])]


def _tag(cursor: Cursor, argument: str = "tag") -> str:
    if cursor.next.kind not in ("word", "name", "number", "text"):
        cursor.fail("the name of a tag")
    return f"{argument} => {text(cursor.take().value)}"


def _options(cursor: Cursor) -> list[str]:
    found = []
    if cursor.accept("AS", "OF", "VERSION"):
        found.append(f"snapshot => {cursor.whole()}")
    if cursor.accept("RETAIN"):
        count = cursor.whole()
        unit = next((unit for unit in _UNITS if cursor.accept(unit)), None)
        if unit is None:
            cursor.fail(", ".join(_UNITS))
        found.append(f"time_retained => '{count} {_UNITS[unit or 'DAYS']}'")
    return found
