"""Predicates as the SQL text that EXPLAIN shows."""

from __future__ import annotations

from typing import Any

from keyfold.types.literals import Constant
from keyfold.wire.predicates import Named, Part, Predicate


def describe(part: Part) -> str:
    """`id = 5`, `(a OR NOT b)`, `d IN ('x', 'y')` …."""
    if isinstance(part, Named):
        return ".".join(part.path)
    if isinstance(part, Constant):
        return _literal(part.value)
    op, args = part.op, [describe(arg) for arg in part.args]
    match op, args:
        case (("AND" | "OR"), _):
            return f"({f' {op} '.join(args)})"
        case "NOT", [inner]:
            return f"NOT {inner}"
        case "IN", [column, *values]:
            return f"{column} IN ({', '.join(values)})"
        case (("IS_NULL" | "IS_NOT_NULL"), [_]):
            return f"{_operand(part.args[0])} {op.replace('_', ' ')}"
        case "STARTS_WITH", [column, prefix]:
            return f"{column} STARTS WITH {prefix}"
        case _, [_, _]:
            return f" {op} ".join(_operand(arg) for arg in part.args)
    return f"{op}({', '.join(args)})"


def _operand(part: Part) -> str:
    """The text, in parentheses if it is a condition: `(k = 1) = (p = 1)`."""
    shown = describe(part)
    is_bare = isinstance(part, Predicate) and part.op not in ("AND", "OR")
    return f"({shown})" if is_bare else shown


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f"'{value}'" if isinstance(value, str) else str(value)
