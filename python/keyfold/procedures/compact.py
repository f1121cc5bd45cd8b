"""compact: the files of a table are merged into fewer."""

from collections.abc import Mapping, Sequence
from typing import Literal

from keyfold.compact.running_job import compacted, skipped
from keyfold.errors import TableError
from keyfold.procedures.declare import (
    CALL_OPTIONS,
    CONDITION,
    Procedure,
    ProcedureCall,
    ProcedureParameter,
    Rows,
    duration_of,
)
from keyfold.wire.predicates import Predicate
from keyfold.write.expired_partitions import expire_due


def _compact(
    call: ProcedureCall,
    partitions: str | None,
    compact_strategy: str,
    order_strategy: str,
    order_by: str | None,
    where: Sequence[Predicate] | Literal[False],
    options: Mapping[str, str] | None,
    partition_idle_time: str | None,
    max_bytes: int | None,
    dry_run: bool,
) -> Rows:
    if order_strategy != "none" or order_by is not None:
        raise TableError(
            "compact: order_strategy and order_by are for tables without a primary key; the files "
            f"of {call.table.layout.name} are ordered by their key. Leave both out"
        )
    if where is False:
        return [skipped("no partition satisfies the condition")]
    table = call.newest()
    if table.options.expires_partitions and not dry_run:
        expire_due(table)
    return compacted(
        call.caller,
        call.newest,
        compact_strategy,
        dry_run=dry_run,
        partitions=partitions,
        where=where,
        idle_seconds=duration_of("compact: partition_idle_time", partition_idle_time),
        options=options,
        max_bytes=max_bytes,
    )


# Columns about files before and after they are written again, and the snapshot that did it.
REWRITTEN = {
    "files_before": "BIGINT",
    "files_after": "BIGINT",
    "bytes_before": "BIGINT",
    "bytes_after": "BIGINT",
    "rows_before": "BIGINT",
    "rows_after": "BIGINT",
    "snapshot_id": "BIGINT",
}

COMPACT = Procedure(
    "compact",
    "merges the files of a table into fewer",
    (
        ProcedureParameter(
            "partitions", "STRING", "these partitions, as 'dt=2024-01-01,hh=1;dt=2024-01-02'"
        ),
        ProcedureParameter(
            "compact_strategy",
            "STRING",
            "'full': all files into one run (the default); 'minor': what is due",
            "full",
        ),
        ProcedureParameter(
            "order_strategy", "STRING", "only 'none': files are ordered by key", "none"
        ),
        ProcedureParameter("order_by", "STRING", "not for primary-key tables"),
        ProcedureParameter(
            "where",
            CONDITION,
            "the partitions that satisfy a condition, as 'dt >= ''2024-01-01'''",
            (),
        ),
        CALL_OPTIONS,
        ProcedureParameter(
            "partition_idle_time", "STRING", "those last written so long ago, as '2 h', or before"
        ),
        ProcedureParameter(
            "max_bytes", "BIGINT", "stop picking files when they are together so large"
        ),
        ProcedureParameter("dry_run", "BOOLEAN", "say what would be done, and do nothing", False),
    ),
    {
        "partition": "STRING",
        "bucket": "INT",
        "level": "INT",
        **REWRITTEN,
        "status": "STRING",
        "message": "STRING",
    },
    _compact,
    "Merges everything into one run in each bucket (`full`), or what is due (`minor`). "
    "`partitions` has the form `'dt=2024-01-01,hh=1;dt=2024-01-02'`, values in quotes or "
    "without; `partition_idle_time`, as `'2 h'`, takes those to which nothing was written for so "
    "long. `options` apply to this call, "
    "as `'name=value,…'` or a map: those of compaction, files, commits and snapshots, but none "
    "that decides what the rows are. Partitions that the table's options let go by their age go "
    "first, those of a write-only table too.",
    again=True,
)
