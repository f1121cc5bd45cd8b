"""The form of Doris' cases: keys, an aggregation kind a column, statements and queries in SQL."""

import json

from integration.conformance import tables, words
from integration.conformance.case import Case, Expectation, Insert, Raw, Refusal, Rows, Statement
from keyfold.dialects import statement
from keyfold.wire.layout import quoted

TYPES = {"DECIMAL(38,0)": "LARGEINT", "TIMESTAMP": "DATETIME(6)", "TIMESTAMP_NTZ": "DATETIME(6)"}
STATES = {
    "BITMAP_UNION": "BITMAP",
    "HLL_UNION": "HLL",
    "QUANTILE_UNION": "QUANTILE_STATE",
    "PERCENTILE_UNION": "PERCENTILE",
}
PHASES = {"create": "create", "insert": "write", "query": "read"}


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
        commits=[*tables.with_compactions(([_write(c)] for c in raw["commits"]), layout)],
        accepted=accepted(raw),
        functions=raw["agg"],
        query=raw.get("query"),
        declared=words.declared(raw),
        configured=words.configured(raw),
    )


def create(raw: Raw, layout: str) -> str:
    """The table as Doris declares it."""
    columns = ", ".join(_column(raw, name, kind) for name, kind in raw["columns"])
    key = raw.get("key_clause") or raw["key"]
    key_clause = f" AGGREGATE KEY({statement.names(key)})" if key else ""
    by = raw.get("partition_by")
    partitions = f" PARTITION BY LIST({statement.names(by)}) ()" if by else ""
    distribution = raw.get("distribution") or (f"HASH({statement.names(key)})" if key else "RANDOM")
    return (
        f"CREATE TABLE t ({columns}){key_clause}{partitions} "
        f"DISTRIBUTED BY {distribution} BUCKETS {tables.BUCKETS[layout]} "
        'PROPERTIES ("replication_num" = "1", "write-only" = "true")'
    )


def _column(raw: Raw, name: str, kind: str) -> str:
    """A column with its aggregation; its Spark type in Doris' words."""
    bare = kind.removesuffix(" NOT NULL")
    folds = raw["agg"].get(name) or (raw.get("key_agg") or {}).get(name)
    generic = "GENERIC" if _is_state(folds or "") else folds
    parts = [quoted(name), _type(bare, folds or ""), generic]
    parts += ["NOT NULL"] if bare != kind else []
    if name in raw["defaults"]:
        value = raw["defaults"][name]
        parts += ["DEFAULT", "NULL" if value is None else json.dumps(str(value))]
    return " ".join(part for part in parts if part)


def _is_state(folds: str) -> bool:
    return folds.upper().startswith("AGG_STATE")


def _type(kind: str, folds: str) -> str:
    if _is_state(folds):
        return folds
    if kind == "BINARY":
        return STATES.get(folds, "VARBINARY")
    return TYPES.get(kind, kind)


def _write(commit: list[list[object]] | Raw) -> Insert | Statement:
    return Insert(commit, is_sql=True) if isinstance(commit, list) else Statement(commit["sql"])


def accepted(raw: Raw) -> list[Expectation]:
    """What passes."""
    if "expect_error" in raw:
        return [Refusal(raw["expect_error"], PHASES[raw.get("error_at", "query")])]
    return [Rows(raw["expect"])]
