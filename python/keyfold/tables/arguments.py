"""The commands of `python -m keyfold` about tables, and their arguments. Those that are procedures
have the names, arguments and purposes that the procedures declare.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from keyfold.procedures import procedures
from keyfold.procedures.declare import CONDITION, Procedure, ProcedureParameter

Argument = tuple[tuple[str, ...], dict[str, Any]]


def _argument(*names: str, **how: Any) -> Argument:
    return names, how


_TABLE = _argument("table", help="namespace.table, or a path with a slash")
_WHERE = _argument("--where", help="a condition in SQL, such as \"qty > 5 AND sku LIKE 'b%%'\"")
_COLUMNS = _argument("--columns", help="names between commas (default: all)")
_FILE = _argument("file", help=".parquet, .arrow, .csv, .jsonl or .json; - is standard input")
_READ = (
    _argument("--format", choices=("csv", "json", "arrow", "parquet"), help="of the file"),
    _argument("--null", metavar="TEXT", help="how CSV writes NULL (default: an empty field)"),
    _argument("--types", help="'price DOUBLE, …': types of texts that aren't the table's"),
)
_TOKEN = _argument("--token", metavar="NAME:VERSION", help="changes nothing if it was there")
_VERSION = (
    _argument("--snapshot", type=int, help="the id of an older snapshot"),
    _argument("--tag", help="the name of one"),
    _argument("--timestamp", help="the newest one by then, such as 2026-11-01T00:00:00+00:00"),
)

_HOW: Mapping[str, Mapping[str, Any]] = {
    "INT": {"type": int},
    "BIGINT": {"type": int},
    "TIMESTAMP": {"metavar": "TIME"},
    CONDITION: {"metavar": "CONDITION"},
}


def _of_parameter(parameter: ProcedureParameter) -> Argument:
    """As SQL names it, with dashes. What a call can't do without is named by its place."""
    how: dict[str, Any] = {"help": parameter.doc.replace("%", "%%")}
    if parameter.is_required:
        return _argument(parameter.name, **how, **_HOW.get(parameter.type, {}))
    option = f"--{parameter.name.replace('_', '-')}"
    if parameter.type != "BOOLEAN":
        return _argument(option, **how, **_HOW.get(parameter.type, {}))
    action = argparse.BooleanOptionalAction if parameter.default else "store_true"
    return _argument(option, **how, action=action)


def command_of(procedure: Procedure) -> str:
    """The name of a procedure as a command."""
    return procedure.name.replace("_", "-")


CALLED: Mapping[str, Procedure] = {
    name: procedure
    for procedure in procedures().values()
    if not procedure.needs_spark and not procedure.of_catalog
    for name in (command_of(procedure), procedure.short)
    if name
}

OF_CATALOG: Mapping[str, Procedure] = {
    command_of(procedure): procedure
    for procedure in procedures().values()
    if not procedure.needs_spark and procedure.of_catalog
}

COMMANDS: Mapping[str, tuple[str, tuple[Argument, ...]]] = {
    "ls": ("list namespaces, or the tables of one", (_argument("namespace", nargs="?"),)),
    "report": (
        "show the state of all tables, or of a namespace's",
        (
            _argument("namespace", nargs="?"),
            _argument("--orphans", action="store_true", help="list files that nothing refers to"),
            _argument("--prometheus", action="store_true", help="print what Prometheus reads"),
        ),
    ),
    "describe": ("show columns, key, options and size of a table", (_TABLE,)),
    "create": (
        "make an empty table",
        (
            _TABLE,
            _argument("schema", help="columns and types: 'sku STRING, qty BIGINT NOT NULL'"),
            _argument("--key", default="", help="columns of the primary key between commas"),
            _argument("--partitions", default="", help="columns to partition by between commas"),
            _argument("--option", action="append", help="NAME=VALUE, an option of the table"),
        ),
    ),
    "drop": ("remove a table", (_TABLE,)),
    "scan": (
        "print rows",
        (
            _TABLE,
            _COLUMNS,
            _WHERE,
            _argument("--limit", type=int, help="the most rows"),
            *_VERSION,
        ),
    ),
    "count": ("print the number of rows", (_TABLE, _WHERE, *_VERSION)),
    "changes": (
        "print the changes of snapshots",
        (
            _TABLE,
            _argument("--after", default="0", help="a snapshot or tag (default: the beginning)"),
            _argument("--until", help="a snapshot or tag (default: the newest)"),
            _argument("--view", default="changes", help="changes, audit_log, binlog or rows"),
            _COLUMNS,
            _WHERE,
        ),
    ),
    "get": (
        "print the row of a key",
        (_TABLE, _argument("key", nargs="+", help="NAME=VALUE for each column of the key")),
    ),
    "upsert": ("write the rows of a file in one commit", (_TABLE, _FILE, *_READ, _TOKEN)),
    "delete": (
        "remove the rows of keys in a file, or those that satisfy a condition over the key",
        (_TABLE, _argument("file", nargs="?", help=_FILE[1]["help"]), _WHERE, *_READ, _TOKEN),
    ),
    "snapshots": ("show the snapshots of a table", (_TABLE,)),
    "files": ("show the data files of a table", (_TABLE,)),
    "show": (
        "show any metadata table",
        (_TABLE, _argument("name", help="options, partitions, buckets, schemas, manifests …")),
    ),
    **{
        name: (
            procedure.purpose,
            (
                _TABLE,
                *map(_of_parameter, procedure.parameters),
                *((_TOKEN,) if procedure.takes_token else ()),
            ),
        )
        for name, procedure in CALLED.items()
    },
    **{
        name: (procedure.purpose, tuple(map(_of_parameter, procedure.parameters)))
        for name, procedure in OF_CATALOG.items()
    },
}


def add(commands: Any, run: Callable[[argparse.Namespace], int]) -> None:
    """Add these commands to a parser's; `run` runs any of them."""
    for name, (text, arguments) in COMMANDS.items():
        one: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
        for names, how in arguments:
            one.add_argument(*names, **how)
        one.add_argument("--warehouse", help="its folder or URL (default: that of Spark)")
        one.add_argument("--catalog", default="keyfold", help="its name (default: keyfold)")
        one.add_argument("--set", action="append", metavar="NAME=VALUE", help="other settings")
        one.add_argument("--json", action="store_true", help="print a line of JSON for each row")
        one.set_defaults(command=run, table_command=name)
