"""A table as a Hive Metastore has it: Paimon's classes, columns in Hive's types, options.

Paimon's Java takes no more from it than the place, the classes and whether it is external: columns
and options are for Hive and those who look.
"""

import time
from collections.abc import Mapping

from keyfold.errors import TableError
from keyfold.storage.hive import thrift
from keyfold.storage.hive.metastore import STORAGE, TABLE, columns
from keyfold.storage.hive.thrift import Struct
from keyfold.types.logical import Array, DataType, Map, Row
from keyfold.types.type_table import MAX_LENGTH
from keyfold.wire.layout import TableLayout

_INPUT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE = "org.apache.paimon.hive.PaimonSerDe"
_OWN = {"table_type": "PAIMON", "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}
_EXTERNAL, _VIEW = "EXTERNAL_TABLE", "VIRTUAL_VIEW"
_FOREVER = (1 << 31) - 1
_LONGEST = {"CHAR": 255, "VARCHAR": 65535}  # of Hive's texts


def is_paimon(table: Struct) -> bool:
    """Whether it is a table of Paimon's, as its Java decides."""
    storage = thrift.struct_of(table, TABLE.STORAGE)
    found = thrift.text_of(storage, STORAGE.INPUT), thrift.text_of(storage, STORAGE.OUTPUT)
    return found == (_INPUT, _OUTPUT)


def is_external(table: Struct) -> bool:
    """Whether its folder stays when it is dropped."""
    return thrift.text_of(table, TABLE.KIND) == _EXTERNAL


def kind_of(table: Struct) -> str:
    """Words for a table or view that is not Paimon's."""
    is_view = thrift.text_of(table, TABLE.KIND) == _VIEW
    return "a view of Hive's" if is_view else "a table of another format"


def location_of(table: Struct) -> str:
    """Its place."""
    return thrift.text_of(thrift.struct_of(table, TABLE.STORAGE), STORAGE.LOCATION)


def columns_of(table: Struct) -> list[Struct]:
    """Its columns."""
    return thrift.items_of(thrift.struct_of(table, TABLE.STORAGE), STORAGE.COLUMNS)


def made(namespace: str, name: str, owner: str, layout: TableLayout, location: str) -> Struct:
    """A new table."""
    now = int(time.time())
    empty = {
        TABLE.NAME: thrift.text(name),
        TABLE.DATABASE: thrift.text(namespace),
        TABLE.OWNER: thrift.text(owner),
        TABLE.CREATED: thrift.number(now),
        TABLE.ACCESSED: thrift.number(now),
        TABLE.RETENTION: thrift.number(_FOREVER),
        TABLE.PARTITION_KEYS: thrift.structs([]),
        TABLE.PARAMETERS: thrift.pairs(_OWN),
        TABLE.KIND: thrift.text("MANAGED_TABLE"),
    }
    return updated(moved(empty, namespace, name, location), layout, {})


def moved(table: Struct, namespace: str, name: str, location: str) -> Struct:
    """The table under another name and at another place."""
    storage = {
        **thrift.struct_of(table, TABLE.STORAGE),
        STORAGE.LOCATION: thrift.text(location),
    }
    named = {TABLE.NAME: thrift.text(name), TABLE.DATABASE: thrift.text(namespace)}
    return {**table, **named, TABLE.STORAGE: thrift.record(storage)}


def updated(table: Struct, layout: TableLayout, before: Mapping[str, str]) -> Struct:
    """The table with the columns and options of a layout; options `before` are taken away."""
    serde = {
        **thrift.struct_of(thrift.struct_of(table, TABLE.STORAGE), STORAGE.SERDE),
        2: thrift.text(_SERDE),
        3: thrift.pairs({}),
    }
    empty = {
        STORAGE.COMPRESSED: thrift.flag(False),
        STORAGE.BUCKETS: thrift.number(0),
        STORAGE.BUCKET_COLUMNS: thrift.texts([]),
        STORAGE.SORT_COLUMNS: thrift.structs([]),
        STORAGE.PARAMETERS: thrift.pairs({}),
    }
    storage = {
        **empty,
        **thrift.struct_of(table, TABLE.STORAGE),
        STORAGE.COLUMNS: columns([(c.name, hive_type(c.type), c.comment) for c in layout.columns]),
        STORAGE.INPUT: thrift.text(_INPUT),
        STORAGE.OUTPUT: thrift.text(_OUTPUT),
        STORAGE.SERDE: thrift.record(serde),
    }
    had = thrift.pairs_of(table, TABLE.PARAMETERS)
    kept = {name: value for name, value in had.items() if name not in before}
    parameters = thrift.pairs({**kept, **properties_of(layout), **_OWN})
    return {**table, TABLE.STORAGE: thrift.record(storage), TABLE.PARAMETERS: parameters}


def properties_of(layout: TableLayout) -> dict[str, str]:
    """A table's options, keys and comment, as Paimon's Java has them among its properties."""
    lists = {
        "primary-key": layout.primary_key,
        "partition": layout.partition_keys,
        "bucket-key": () if "bucket-key" in layout.options else layout.key,
    }
    named = {name: ",".join(names) for name, names in lists.items() if names}
    comment = {"comment": layout.comment} if layout.comment else {}
    return {**layout.options, **named, **comment}


def hive_type(data_type: DataType) -> str:
    """The type in Hive. Raises TableError if Hive has none for it."""
    match data_type:
        case Array(element):
            return f"array<{hive_type(element)}>"
        case Map(key, value):
            return f"map<{hive_type(key)},{hive_type(value)}>"
        case Row(fields) if not data_type.is_variant:
            return f"struct<{','.join(f'{f.name}:{hive_type(f.type)}' for f in fields)}>"
        case Row():
            raise TableError("a Hive catalog has no columns of type VARIANT")
    if (data_type.length or 0) > _LONGEST.get(data_type.name, MAX_LENGTH):
        return "string"
    return data_type.spelled(data_type.facts.hive or data_type.facts.sql).lower()
