"""Schemas that this process has read: each is kept as long as its file is the same."""

import contextlib
from dataclasses import replace

from keyfold.resources.cache import Cache
from keyfold.storage.schema.schemas import Schemas, StoredSchema

KEPT: Cache[StoredSchema] = Cache(256)


def stamp_of(schemas: Schemas, schema_id: int) -> str:
    """A word that changes if the file of a schema is another's; empty if it is missing."""
    with contextlib.suppress(FileNotFoundError):
        return schemas.files.stamp(schemas.path(schema_id))
    return ""


def read_schema(schemas: Schemas, schema_id: int) -> StoredSchema:
    """A schema, whose layout says which file it is of. Raises as `Schemas.read`."""
    identity = stamp_of(schemas, schema_id)
    where = f"{schemas.folder} {schemas.name} {sorted(schemas.files.options.items())}"
    key = (where, schema_id, identity)
    found = KEPT.get(key)
    if found is not None:
        return found
    read = schemas.read(schema_id)
    layout = replace(read.layout, identity=identity, store=schemas.files.options)
    found = replace(read, layout=layout)
    KEPT.put(key, found)
    return found
