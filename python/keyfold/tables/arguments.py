"""The commands of `python -m keyfold` about tables, and their arguments. This module loads nothing
else: `commands` has what they do.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

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
_DRY_RUN = _argument("--dry-run", action="store_true", help="list them only")
_VERSION = (
    _argument("--snapshot", type=int, help="the id of an older snapshot"),
    _argument("--tag", help="the name of one"),
    _argument("--timestamp", help="the newest one by then, such as 2026-11-01T00:00:00+00:00"),
)
_OLDER = _argument("--older-than", help="a time, such as 2026-11-01T00:00:00+00:00")

COMMANDS: Mapping[str, tuple[str, tuple[Argument, ...]]] = {
    "ls": ("list namespaces, or the tables of one", (_argument("namespace", nargs="?"),)),
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
    "upsert": ("write the rows of a file in one commit", (_TABLE, _FILE, *_READ)),
    "delete": (
        "remove the rows of keys in a file, or those that satisfy a condition over the key",
        (_TABLE, _argument("file", nargs="?", help=_FILE[1]["help"]), _WHERE, *_READ),
    ),
    "compact": (
        "merge files",
        (
            _TABLE,
            _argument("--strategy", default="full", choices=("full", "minor")),
            _argument("--partitions", help="those to take: 'day=1,hour=2;day=3'"),
            _argument("--max-bytes", type=int, help="the most bytes to read"),
        ),
    ),
    "rescale": ("give a table another number of buckets", (_TABLE, _argument("buckets", type=int))),
    "expire": (
        "remove snapshots that may go",
        (
            _TABLE,
            _argument("--retain-max", type=int, help="the most snapshots to keep"),
            _argument("--retain-min", type=int, help="the least snapshots to keep"),
            _OLDER,
        ),
    ),
    "orphans": ("remove files that nothing refers to", (_TABLE, _DRY_RUN, _OLDER)),
    "tag": (
        "name the newest snapshot, or another",
        (
            _TABLE,
            _argument("name"),
            _argument("--snapshot", type=int, help="its id"),
            _argument("--delete", action="store_true", help="delete the tag"),
        ),
    ),
    "rollback": ("make an older snapshot the newest", (_TABLE, *_VERSION)),
    "health": ("show what reads of each bucket cost, with advice", (_TABLE,)),
    "snapshots": ("show the snapshots of a table", (_TABLE,)),
    "files": ("show the data files of a table", (_TABLE,)),
    "show": (
        "show any metadata table",
        (_TABLE, _argument("name", help="options, partitions, buckets, schemas, manifests …")),
    ),
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
