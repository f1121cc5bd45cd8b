"""table_health: a row for each bucket."""

from keyfold.compact.health import of_table
from keyfold.procedures.declare import Procedure, ProcedureCall, Rows


def _health(call: ProcedureCall) -> Rows:
    return [one.to_json(call.table.layout) for one in of_table(call.table)]


TABLE_HEALTH = Procedure(
    "table_health",
    "says of each bucket how much reading it costs, and what helps",
    (),
    {
        "partition": "STRING",
        "bucket": "INT",
        "runs": "BIGINT",
        "level0_files": "BIGINT",
        "files": "BIGINT",
        "bytes": "BIGINT",
        "rows": "BIGINT",
        "largest_file": "BIGINT",
        "delete_rows": "BIGINT",
        "read_amplification": "DOUBLE",
        "advice": "STRING",
    },
    _health,
    "Reports for each bucket how many runs and bytes a read merges, and what helps.",
    again=True,
    short="health",
)
