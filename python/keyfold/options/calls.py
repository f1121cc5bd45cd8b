"""Options of one read or one write, for both languages.

A name may also be an option of tables, which a writer's options define. A name that is neither is
refused, unless Spark itself reads it or put it there.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.declared import TableOptions, declared
from keyfold.options.names import is_of_table, names_nearby
from keyfold.options.values import shown

Value = TypeVar("Value")


@dataclass(frozen=True)
class Call:
    """The options of one kind of statement; `sparks` are those that Spark or the jar acts on."""

    doing: str
    options: tuple[str, ...]
    sparks: tuple[str, ...] = ()

    @property
    def takes(self) -> str:
        """Its options as a list in a sentence."""
        return ", ".join((*self.options, *self.sparks)) or "none"


_TIME_TRAVEL = ("versionAsOf", "timestampAsOf")
READ_OPTIMIZED = "read-optimized"
READ_BY_BUCKET = "read-by-bucket"
# Options of tables that a read may set to another value.
OF_READS = tuple(option.name for option in declared() if option.per_call)
READ = Call(
    "reading",
    (READ_OPTIMIZED, READ_BY_BUCKET, *OF_READS, "scan.mode"),
    ("keyfold.aggregate-push-down", TableOptions.lookups_insert.name, *_TIME_TRAVEL),
)
INCREMENTAL = (
    "incremental-between",
    "incremental-between-timestamp",
    "incremental-to-auto-tag",
    "incremental-between-scan-mode",
)
STARTING_VERSION, STARTING_TIMESTAMP = "startingVersion", "startingTimestamp"
_STARTS = (STARTING_VERSION, STARTING_TIMESTAMP, "startingBoundInclusive")
_ENDS = ("endingVersion", "endingTimestamp", "endingBoundInclusive")
_OF_CHANGES = ("deduplicationMode", "computeUpdates")
READ_CHANGES = Call("reading changes of", OF_READS, (*_STARTS, *_ENDS, *_OF_CHANGES))
READ_BETWEEN = Call("reading changes of", (*INCREMENTAL, *OF_READS))
SCAN_MODE, SCAN_SNAPSHOT, SCAN_MILLIS = "scan.mode", "scan.snapshot-id", "scan.timestamp-millis"
CONSUMER, IGNORE_DELETES = "consumer-id", "ignore-deletes"
MAX_FILES, MAX_ROWS = "maxFilesPerTrigger", "maxRowsPerTrigger"
MAX_BYTES = "maxBytesPerTrigger"
_PAIMONS = "read.stream."  # before the names of limits
_OF_STREAMS = (MAX_FILES, MAX_ROWS, MAX_BYTES, CONSUMER, *OF_READS)
_STREAM_STARTS = (SCAN_MODE, SCAN_SNAPSHOT, SCAN_MILLIS, STARTING_VERSION, STARTING_TIMESTAMP)
# By bucket is for batches, and a session may ask for it.
STREAM_FROM = Call(
    "streaming from", (*_STREAM_STARTS, *_OF_STREAMS, IGNORE_DELETES), (READ_BY_BUCKET,)
)
STREAM_CHANGES = Call("streaming changes of", _OF_STREAMS, (*_STARTS, *_OF_CHANGES))
READ_METADATA = Call("reading", (), _TIME_TRAVEL)
TARGET_COLUMNS = "target-columns"
MERGE_MODE = "merge_mode"
TRANSACTION_APP = "txnAppId"
TRANSACTION_VERSION = "txnVersion"
ACCEPT_LOST = "accept-lost-epochs"
WRITE_ONLY = TableOptions.write_only.name
WRITE = Call(
    "writing",
    (TARGET_COLUMNS, MERGE_MODE, TRANSACTION_APP, TRANSACTION_VERSION, ACCEPT_LOST),
    ("partitionOverwriteMode", "checkpointLocation", "queryName", "mergeSchema"),
)

# The place of a table and the collation of its text, which Spark also passes as options.
_ELSEWHERE = ("path", "collation")
_INTERNAL = "__"
# Options of other systems: the value that asks for nothing, and what there is for all others.
_REFUSED = {
    "mergeschema": ("false", "it is an option of writers, by which a table gets new columns"),
    "overwriteschema": ("false", "writeTo(…).createOrReplace() makes the table anew"),
    "branch": ("main", "a branch is a table by its name, t$branch_NAME"),
    "write.merge-schema": ("false", "mergeSchema adds columns, and widens types"),
    "read.changelog": ("false", "changes with their row kinds are the table t$audit_log"),
}


def split(
    call: Call, table: str, given: Mapping[str, str], engine: str | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """The call's own options by their names here, and those of tables of this engine. Raises
    TableError or NotSupportedError if one is neither.
    """
    known = {_plain(name): name for name in call.options}
    own, of_table = {}, {}
    for name, text in given.items():
        if _plain(name) in known:
            own[known[_plain(name)]] = text
        elif call is WRITE and name.lower() == WRITE_ONLY and text.strip().lower() == "true":
            own[WRITE_ONLY] = "true"
        elif _is_sparks(call, name) or _asks_nothing(name, text):
            continue
        elif is_of_table(name, engine) and name.lower() not in _REFUSED:
            of_table[name] = text
        else:
            raise _unknown(call, table, name, engine)
    return own, of_table


def value(
    doing: str, given: Mapping[str, str], name: str, parse: Callable[[str], Value]
) -> Value | None:
    """The value of one of the call's options, None if it is not given. Raises TableError if it is
    wrong; `doing` says what the call does, with which table.
    """
    text = given.get(name)
    try:
        return None if text is None else parse(text.strip())
    except ValueError as error:
        raise TableError(
            f"{doing}: option {name}: expected {error}, found '{shown(text)}'"
        ) from error


def _plain(name: str) -> str:
    """The name in any letter case, with `-` for `_` and without Paimon's prefix of limits."""
    return name.lower().removeprefix(_PAIMONS).replace("_", "-")


def _is_sparks(call: Call, name: str) -> bool:
    known = {own.lower() for own in (*call.sparks, *_ELSEWHERE)}
    return name.lower() in known or name.startswith(_INTERNAL)


def _asks_nothing(name: str, text: str) -> bool:
    nothing, _ = _REFUSED.get(name.lower(), (None, ""))
    return text.strip().lower() == nothing


def _unknown(
    call: Call, table: str, name: str, engine: str | None
) -> TableError | NotSupportedError:
    where = f"{call.doing} table {table}: option {shown(name)}"
    _, reason = _REFUSED.get(name.lower(), (None, None))
    if reason is not None:
        return NotSupportedError(f"{where} is not supported: {reason}")
    near = _nearest(name, [*call.options, *call.sparks, *names_nearby(name, engine)])
    hint = "" if near is None else f"; did you mean {near}?"
    return TableError(f"{where} is unknown{hint} (options of this call: {call.takes})")


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name most similar to `name`; the separators of its words do not count."""
    by_letters = {_letters(own): own for own in reversed(known)}
    found = difflib.get_close_matches(_letters(name), by_letters, 1, 0.6)
    return by_letters[found[0]] if found else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
