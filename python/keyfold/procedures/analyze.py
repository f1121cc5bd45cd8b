"""analyze: figures of columns, which Spark counts and its optimizer then has."""

from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.read.column_statistics import store


def _analyze(call: ProcedureCall, columns: str | None) -> Rows:
    named = None if columns is None else [name.strip() for name in columns.split(",")]
    found = call.caller.analyzed(named and [name for name in named if name])
    snapshot = store(call.table, found["rows"], found["columns"])
    names = [column["name"] for column in found["columns"]]
    return [{"snapshot_id": snapshot, "row_count": found["rows"], "columns": names}]


ANALYZE = Procedure(
    "analyze",
    "counts rows and the values of columns, for Spark's optimizer",
    (
        ProcedureParameter(
            "columns", "STRING", "names, with commas between them; all columns when left out"
        ),
    ),
    {"snapshot_id": "BIGINT", "row_count": "BIGINT", "columns": "ARRAY<STRING>"},
    _analyze,
    "Counts rows and the values of columns for Spark's optimizer "
    "([statistics](#statistics-for-spark)).",
    again=True,
    needs_spark=True,
)
