"""compact_database: the tables of a catalog are compacted, one after another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.compact.running_job import compacted
from keyfold.errors import KeyfoldError, NoSuchNamespaceError, TableError
from keyfold.procedures.declare import (
    CALL_OPTIONS,
    CatalogCall,
    Procedure,
    ProcedureParameter,
    Rows,
)
from keyfold.write.expired_partitions import expire_due

_WORST = ("failed", "conflict", "committed", "nothing", "skipped")


def _compact(
    call: CatalogCall,
    including_databases: str,
    including_tables: str,
    excluding_tables: str | None,
    options: Mapping[str, str] | None,
) -> Rows:
    databases = _pattern("including_databases", including_databases)
    tables = _pattern("including_tables", including_tables)
    others = None if not excluding_tables else _pattern("excluding_tables", excluding_tables)
    found = []
    for namespace in sorted(call.catalog.list_namespaces()):
        if databases.fullmatch(".".join(namespace)) is None:
            continue
        try:
            listed = sorted(call.catalog.list_tables(namespace))
        except NoSuchNamespaceError:
            continue  # dropped meanwhile
        except Exception as error:
            found.append({"table": ".".join(namespace), **_failed(call, error, namespace)})
            continue
        for table in listed:
            name = ".".join((*namespace, table))
            is_left = others is not None and others.fullmatch(name) is not None
            if tables.fullmatch(name) is not None and not is_left:
                found.append({"table": name, **_of_table(call, namespace, table, options)})
    return found


def _pattern(name: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise TableError(
            f"compact_database: {name} is '{text}'; expected a regular expression: {error}"
        ) from error


def _of_table(
    call: CatalogCall, namespace: list[str], table: str, options: Mapping[str, str] | None
) -> dict[str, Any]:
    """The outcome of one table's compaction. An error of one is in nobody else's way."""
    load = partial(call.catalog.load_table, namespace, table)
    try:
        loaded = load()
        if loaded.options.expires_partitions:
            expire_due(loaded)
        steps = compacted(call.caller, load, "full", options=options)
    except pa.ArrowCancelled:
        raise
    except Exception as error:
        return _failed(call, error, [*namespace, table])
    counts = Counter(step["status"] for step in steps)
    status = next(one for one in _WORST if counts[one])
    message = next((step["message"] for step in steps if step["status"] == status), None)
    return {"steps": counts.total() - counts["skipped"], "status": status, "message": message}


def _failed(call: CatalogCall, error: Exception, name: list[str]) -> dict[str, Any]:
    """The outcome of what failed, whatever raised the error: libraries have errors of their own."""
    is_told = isinstance(error, KeyfoldError | OSError)
    text = str(error) if is_told else f"{type(error).__name__}: {error}"
    call.caller.note(f"compact_database: {'.'.join(name)}: {text}", is_bad=True)
    return {"steps": 0, "status": "failed", "message": text}


COMPACT_DATABASE = Procedure(
    "compact_database",
    "merges the files of all tables into fewer",
    (
        ProcedureParameter(
            "including_databases",
            "STRING",
            "the namespaces whose whole names match this regular expression",
            ".*",
        ),
        ProcedureParameter(
            "including_tables", "STRING", "the tables whose names, 'namespace.table', do", ".*"
        ),
        ProcedureParameter("excluding_tables", "STRING", "those to leave out"),
        CALL_OPTIONS,
    ),
    {"table": "STRING", "steps": "INT", "status": "STRING", "message": "STRING"},
    _compact,
    "Compacts tables whole, as `compact` does, one after another; takes no `table`. A row for each "
    "has the worst outcome of its steps. What fails in one table is in nobody else's way.",
    of_catalog=True,
)
