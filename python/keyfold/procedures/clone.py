"""clone: a snapshot of a table becomes a table of its own."""

from keyfold.errors import TableError
from keyfold.merge.plan import check
from keyfold.procedures.declare import (
    TABLE_NAME,
    Procedure,
    ProcedureCall,
    ProcedureParameter,
    Rows,
)
from keyfold.storage.branching.clone import clone
from keyfold.storage.catalogs.path_tables import NAMELESS, open_place
from keyfold.storage.catalogs.table_names import parsed
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.history import versions


def _clone(call: ProcedureCall, target: str, version: str | None, timestamp: int | None) -> Rows:
    table = call.newest()
    if version is not None and timestamp is not None:
        raise TableError(
            f"clone of table {table.layout.name}: expected version or timestamp, found both"
        )
    namespace, name = parsed(target)
    if version is not None:
        table = versions.at_version(table, version)
    elif timestamp is not None:
        table = versions.at_timestamp(table, timestamp)
    options = call.caller.options
    catalog = (
        open_place(table.catalog, name, options, check)
        if namespace == NAMELESS
        else open_catalog(table.catalog, options, check)
    )
    found = clone(table, catalog, namespace, name, call.threads)
    return [{"snapshot_id": found.snapshot, "files": found.files, "bytes": found.bytes}]


CLONE = Procedure(
    "clone",
    "makes a new table of a snapshot, with files of its own",
    (
        ProcedureParameter(
            "target", TABLE_NAME, "its name, 'namespace.table', or a path", is_required=True
        ),
        ProcedureParameter("version", "STRING", "the id of a snapshot, or the name of a tag"),
        ProcedureParameter("timestamp", "TIMESTAMP", "that of the newest snapshot by then"),
    ),
    {"snapshot_id": "BIGINT", "files": "BIGINT", "bytes": "BIGINT"},
    _clone,
    "Copies the newest snapshot, or an older one, with its schema, options and files into a new "
    "table of the catalog, which appears when all is there. History, tags, branches and "
    "changelogs stay behind. In a warehouse whose folders can be renamed: not on object stores "
    "and REST catalogs.",
)
