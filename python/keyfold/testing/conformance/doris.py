"""The form of Doris' cases: keys, an aggregation kind a column, statements and queries in SQL."""

import re
from collections.abc import Iterator

from keyfold.testing.conformance import tables, words
from keyfold.testing.conformance.case import (
    Case,
    Expectation,
    Insert,
    Raw,
    Refusal,
    Rows,
    Statement,
)

PHASES = {"create": "create", "insert": "write", "query": "read"}
STATE = re.compile(r"\b(\w+_(?:state|merge|union|finalize|foreach|combine))\s*\(", re.IGNORECASE)
# Functions of their own whose names end like those over aggregate states.
PLAIN = {"to_quantile_state", "bitmap_union", "hll_union", "quantile_union", "percentile_union"}


def is_form(raw: Raw) -> bool:
    """Whether a case has this form."""
    return bool(raw["engine"] == "aggregate-key")


def read(raw: Raw, layout: str) -> Case:
    """The case; ValueError or KeyError where it has not this form."""
    return Case(
        id=raw["id"],
        about=raw.get("about", ""),
        create=create(raw, layout),
        columns=[(name, kind) for name, kind in raw["columns"]],
        commits=[_write(commit) for commit in raw["commits"]],
        accepted=accepted(raw),
        functions=raw["agg"],
        query=raw.get("query"),
        left_out=left_out(raw),
        declared=words.declared(raw),
        configured=words.configured(raw),
    )


def create(raw: Raw, layout: str) -> str:
    """The table, its kinds as aggregate functions."""
    options = {f"fields.{name}.aggregate-function": kind for name, kind in raw["agg"].items()} | {
        "merge-engine": "aggregation",
        "primary-key.nullable": "true",
    }
    columns = [[name, kind + _default(raw, name)] for name, kind in raw["columns"]]
    key = raw.get("key_clause") or raw["key"]
    return tables.create(columns, key, tables.laid_out(options, layout, "bucket"))


def _default(raw: Raw, name: str) -> str:
    if name not in raw["defaults"]:
        return ""
    value = raw["defaults"][name]
    return " DEFAULT NULL" if value is None else f" DEFAULT {value!r}"


def _write(commit: list[list[object]] | Raw) -> Insert | Statement:
    return Insert(commit, is_sql=True) if isinstance(commit, list) else Statement(commit["sql"])


def accepted(raw: Raw) -> list[Expectation]:
    """What passes."""
    if "expect_error" in raw:
        return [Refusal(raw["expect_error"], PHASES[raw.get("error_at", "query")])]
    return [Rows(raw["expect"])]


def left_out(raw: Raw) -> str | None:
    """The capability that a case needs and keyfold does not declare yet."""
    kinds = [*raw["agg"].values(), *(raw.get("key_agg") or {}).values()]
    if any(kind.upper().startswith("AGG_STATE") for kind in kinds):
        return "AGG_STATE columns"
    used = {name.lower() for sql in _expressions(raw) for name in STATE.findall(sql)} - PLAIN
    return f"functions over aggregate states ({words.listed(used)})" if used else None


def _expressions(raw: Raw) -> Iterator[str]:
    """Everything in the case that is SQL."""
    yield raw.get("query") or ""
    for commit in raw["commits"]:
        for row in [[commit]] if isinstance(commit, dict) else commit:
            yield from (cell["sql"] for cell in row if isinstance(cell, dict) and "sql" in cell)
