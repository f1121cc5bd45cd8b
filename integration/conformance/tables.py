"""CREATE TABLE and INSERTs from what Paimon's and Fluss' cases have in common: changes of a kind.

Spark's rows carry no kind. A table that is sent others than +I and has no `rowkind.field` gets one
more column for it, which no query names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from integration.conformance import values
from integration.conformance.case import Commit, Compaction, Insert, Raw
from keyfold.dialects import statement
from keyfold.wire.layout import quoted

KIND = "rowkind__"
KIND_FIELD = "rowkind.field"
COMPACTED = "compacted"
# By layout, where the case says no number.
BUCKETS = {"write-only": "1", "buckets": "3", COMPACTED: "1"}
LAYOUTS = tuple(BUCKETS)
Columns = Sequence[Sequence[str]]


def needs_kinds(raw: Raw) -> bool:
    """Whether the table needs a column for kinds."""
    changes = (change for commit in raw["commits"] for change in commit)
    has_others = any(change["kind"] != "+I" for change in changes)
    return has_others and KIND_FIELD not in raw["options"]


def create(
    columns: Columns, key: Sequence[str], options: Mapping[str, Any], partitions: Sequence[str] = ()
) -> str:
    """The statement for the table `t`."""
    parts = [f"{quoted(name)} {kind}" for name, kind in columns]
    if key:
        parts.append(f"PRIMARY KEY ({statement.names(key)}) NOT ENFORCED")
    by = f" PARTITIONED BY ({statement.names(partitions)})" if partitions else ""
    return f"CREATE TABLE t ({', '.join(parts)}){by}{properties(options)}"


def properties(options: Mapping[str, Any]) -> str:
    """The TBLPROPERTIES clause."""
    pairs = [f"{values.text(name)} = {values.text(str(value))}" for name, value in options.items()]
    return f" TBLPROPERTIES ({', '.join(pairs)})" if pairs else ""


def laid_out(options: Mapping[str, Any], layout: str, bucket: str) -> dict[str, Any]:
    """The case's options and what the layout adds; `bucket` is the system's name for the number."""
    return {bucket: BUCKETS[layout], "write-only": "true", **options}


def inserts(commit: Iterable[Mapping[str, Any]], with_kind: bool) -> Iterator[Insert]:
    """A commit as INSERTs: one, or one for each run of rows that name the same columns and mode."""
    for (targets, mode), changes in groupby(commit, _manner):
        rows = [[*change["row"], *([change["kind"]] if with_kind else [])] for change in changes]
        kind = (KIND,) if with_kind else ()
        yield Insert(rows, targets and (*targets, *kind), mode)


def with_compactions(
    commits: Iterable[Iterable[Commit]], layout: str, after: Collection[int] = ()
) -> Iterator[Commit]:
    """The commits with a full compaction behind those numbered in `after`, or behind each one."""
    for number, commit in enumerate(commits):
        yield from commit
        if layout == COMPACTED or number in after:
            yield Compaction()


def _manner(change: Mapping[str, Any]) -> tuple[tuple[str, ...] | None, str | None]:
    targets = change.get("target_columns")
    return None if targets is None else tuple(targets), change.get("merge_mode")
