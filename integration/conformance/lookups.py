"""The lookups of a case: rows by their key, or by the first columns of it, without Spark."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from integration.conformance import compare, words
from integration.conformance.case import Case, Lookup, Rows
from integration.conformance.session import CATALOG
from integration.conformance.values import literal
from keyfold.errors import KeyfoldError
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.lookup.matches import look_up_prefix
from keyfold.lookup.rows_of_keys import look_up
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.table import Table
from keyfold.tables.connection import connect
from keyfold.tables.table import Table as Door
from keyfold.types import spark as spark_types


def wrong(case: Case, spark: SparkSession, namespace: str) -> str | None:
    """What is wrong with the first lookup that is, None if all are right."""
    if not case.lookups:
        return None
    warehouse = spark.conf.get(f"spark.sql.catalog.{CATALOG}.warehouse")
    assert warehouse is not None
    table = open_catalog(CATALOG, {"warehouse": warehouse}).load_table(
        [namespace.split(".")[-1]], "t"
    )
    door = connect(warehouse).table(f"{namespace.split('.')[-1]}.t")
    found = (
        _wrong(case, table, door, lookup, _key(spark, table, lookup)) for lookup in case.lookups
    )
    return next((text for text in found if text is not None), None)


def _wrong(case: Case, table: Table, door: Door, lookup: Lookup, key: pa.RecordBatch) -> str | None:
    names = [name for name, _ in case.columns]
    plan = plan_lookup(table, names)
    try:
        if lookup.inserts:
            (rows,) = door.get_or_insert_many(key, names).to_batches()
        elif lookup.by is None:
            found, rows = look_up(plan, key)
            rows = rows.filter(found)
        else:
            _, rows = look_up_prefix(plan, lookup.by, key)
    except KeyfoldError as error:
        if isinstance(lookup.expected, Rows):
            return f"looking {lookup.key} up: {error}"
        missing = words.difference(case, lookup.expected, str(error))
        return missing and f"looking {lookup.key} up: {error}\n  missing  {missing}"
    if not isinstance(lookup.expected, Rows):
        return f"looking {lookup.key} up: expected {lookup.expected.text}, found {rows.to_pylist()}"
    return compare.rows(lookup.expected, pa.Table.from_batches([rows]))


def _key(spark: SparkSession, table: Table, lookup: Lookup) -> pa.RecordBatch:
    """The key as one row of the table's types; Spark makes its values."""
    names = table.layout.primary_key if lookup.by is None else lookup.by
    cells: Mapping[str, Any] = dict(zip(names, lookup.key, strict=True))
    fields: Sequence[pa.Field] = [table.layout.column(name).arrow_field for name in names]
    casts = [
        f"CAST({literal(cells[field.name], field.type, '')} AS "
        f"{spark_types.to_spark(table.layout.column(field.name).type)}) AS `{field.name}`"
        for field in fields
    ]
    (batch,) = spark.sql(f"SELECT {', '.join(casts)}").toArrow().combine_chunks().to_batches()
    return batch.cast(pa.schema(fields))
