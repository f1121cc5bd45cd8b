"""check_table: whether all files of a table are there and can be read."""

from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.read.intact import look


def _check(call: ProcedureCall, pages: bool, history: bool) -> Rows:
    table = call.newest()

    def told(line: str) -> None:
        call.caller.note(f"check_table: {table.layout.name}: {line}")

    found = look(table, history=history, pages=pages, threads=call.threads, told=told)
    return [{**found.__dict__, "problems": list(found.problems)}]


CHECK_TABLE = Procedure(
    "check_table",
    "looks whether all files are there and can be read",
    (
        ProcedureParameter("pages", "BOOLEAN", "read all bytes, and compare checksums", False),
        ProcedureParameter(
            "history", "BOOLEAN", "all snapshots that are kept, and their changelogs", False
        ),
    ),
    {"snapshots": "BIGINT", "files": "BIGINT", "bytes": "BIGINT", "problems": "ARRAY<STRING>"},
    _check,
    "Compares size, footer and rows of each file of the newest snapshot with what its manifest "
    "says, with `history` those of all snapshots and changelogs. `pages` reads every byte, in the "
    "driver's process, and compares checksums. Each problem is a sentence that says what helps.",
    again=True,
    short="check",
)
