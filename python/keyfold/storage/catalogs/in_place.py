"""Tables in stores that can't rename: made where they stay, gone once their schemas are.

A table exists from its first schema on. That is published exclusively, so one wins if several jobs
make a table of one name. CREATE … AS SELECT fills the table in its place: it is empty until the
query's one commit, and removed if the query fails.
"""

from keyfold.errors import NotSupportedError, TableExistsError
from keyfold.storage.schema.schemas import Schemas, StoredSchema
from keyfold.stores import folders
from keyfold.stores.files import Files


def make(files: Files, schema: StoredSchema) -> str:
    """Publish the first schema of a table, and remove files that a dropped table left there.
    Returns the schema's stamp. Raises TableExistsError if another job made the table first.
    """
    schemas = Schemas(files, schema.layout.location, schema.layout.name)
    published = schemas.publish(schema)
    if not published:
        raise TableExistsError(f"table {schema.layout.name} exists")
    path = schemas.path(schema.layout.schema_id)
    since = files.modified(path)
    files.remove_below(schemas.location, lambda found, modified: found != path and modified < since)
    return files.stamp(path)


def unmake(files: Files, location: str, stamp: str) -> bool:
    """Remove a table that `make` made; False if another is there."""
    schemas = Schemas(files, location, location)
    is_ours = schemas.latest_id() == 0 and files.stamp(schemas.path(0)) == stamp
    return is_ours and remove(files, location)


def remove(files: Files, location: str) -> bool:
    """Remove a table, in one step if its folder can be renamed, else the schemas first: without
    them it is not a table. False if nothing was there.
    """
    if files.is_local:
        return folders.remove(files, location)
    was_table = files.remove_folder(f"{location}/schema")
    return files.remove_folder(location) or was_table


def refuse_rename(warehouse: str) -> NotSupportedError:
    """The error of a statement that would rename a table or replace it as a whole."""
    return NotSupportedError(
        f"a table below {warehouse} can be neither renamed nor replaced as a whole: an object "
        "store has no rename, and of HDFS' keyfold makes no use; make a new table and INSERT INTO "
        "it, or INSERT OVERWRITE this one (in Python table.upsert, table.overwrite)"
    )
