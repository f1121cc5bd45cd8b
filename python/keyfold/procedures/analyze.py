"""analyze: figures of columns, which Spark counts and its optimizer then has."""

from keyfold.errors import TableError
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.read.column_statistics import store
from keyfold.types.logical import Array, Map, Row, describe
from keyfold.wire.layout import Column, TableLayout


def _analyze(call: ProcedureCall, columns: str | None) -> Rows:
    named = None if columns is None else [name.strip() for name in columns.split(",")]
    found = call.caller.analyzed(_analyzed(call.table.layout, named and [n for n in named if n]))
    snapshot = store(call.table, found["rows"], found["columns"])
    names = [column["name"] for column in found["columns"]]
    return [{"snapshot_id": snapshot, "row_count": found["rows"], "columns": names}]


def _analyzed(layout: TableLayout, named: list[str] | None) -> list[str]:
    """The columns that are named, or all, as far as Spark has statistics of their types."""
    if named is None:
        return [column.name for column in layout.columns if _has_figures(column)]
    return [_of_name(layout, name).name for name in named]


def _of_name(layout: TableLayout, name: str) -> Column:
    fitting = [one for one in layout.columns if one.name.lower() == name.lower()]
    if not fitting:
        has = ", ".join(column.name for column in layout.columns)
        raise TableError(f"analyze: table {layout.name} has no column {name}; it has {has}")
    column = next((one for one in fitting if one.name == name), fitting[0])
    if not _has_figures(column):
        raise TableError(
            f"analyze: column {name} of table {layout.name} is of type {describe(column.type)}; "
            "Spark uses no statistics of such columns: leave it out of `columns`"
        )
    return column


def _has_figures(column: Column) -> bool:
    return not isinstance(column.type, Array | Map | Row)


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
