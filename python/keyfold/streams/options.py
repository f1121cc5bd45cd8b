"""The options of a stream that reads a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.calls import (
    CONSUMER,
    IGNORE_DELETES,
    MAX_BYTES,
    MAX_FILES,
    MAX_ROWS,
    SCAN_MILLIS,
    SCAN_MODE,
    SCAN_SNAPSHOT,
    STARTING_TIMESTAMP,
    STARTING_VERSION,
    value,
)
from keyfold.options.values import boolean, byte_size, moment, whole
from keyfold.storage.metadata.avro_records import is_name

LATEST_FULL, LATEST = "latest-full", "latest"
FROM_SNAPSHOT, FROM_SNAPSHOT_FULL = "from-snapshot", "from-snapshot-full"
FROM_TIMESTAMP = "from-timestamp"
_MODES = (LATEST_FULL, LATEST, FROM_SNAPSHOT, FROM_SNAPSHOT_FULL, FROM_TIMESTAMP)
_SAME = {"default": LATEST_FULL, "full": LATEST_FULL}
_LIMITS: Mapping[str, tuple[str, Callable[[str], int]]] = {
    "files": (MAX_FILES, whole(1)),
    "rows": (MAX_ROWS, whole(1, 2**63 - 1)),
    "bytes": (MAX_BYTES, byte_size),
}
_GREATEST = 2**63 - 1
_STARTS = (SCAN_SNAPSHOT, SCAN_MILLIS, STARTING_VERSION, STARTING_TIMESTAMP)


@dataclass(frozen=True)
class StreamOptions:
    """The beginning of a new stream (its mode, with a snapshot or a time in ms), the most that a
    batch holds, by `files`, `rows` and `bytes`, the consumer that it is, if any, and whether
    deletes are passed over.
    """

    mode: str
    snapshot: int | None
    millis: int | None
    limits: Mapping[str, int]
    consumer: str | None
    ignores_deletes: bool


def stream_options(table: str, asked: Mapping[str, str], zone: str) -> StreamOptions:
    """The options of a stream. `zone` is the time zone of times without one. Raises TableError or
    NotSupportedError, naming the option, if one is wrong.
    """
    parse = partial(value, f"streaming table {table}", asked)
    limits = {kind: parse(name, how) for kind, (name, how) in _LIMITS.items()}
    snapshot = parse(SCAN_SNAPSHOT, whole(1, _GREATEST))
    millis = parse(SCAN_MILLIS, whole(0, _GREATEST))
    version, time = asked.get(STARTING_VERSION), asked.get(STARTING_TIMESTAMP)
    is_latest = version is not None and version.strip().lower() == "latest"
    if version is not None and not is_latest:
        snapshot = parse(STARTING_VERSION, whole(1, _GREATEST))
    if time is not None:
        millis = parse(STARTING_TIMESTAMP, lambda text: moment(text, zone) // 1000)
    given = [name for name in (*_STARTS, SCAN_MODE) if name in asked]
    if sum(name in _STARTS for name in given) > 1:
        raise TableError(f"streaming table {table}: {' and '.join(given)} exclude each other")
    mode = parse(SCAN_MODE, _mode)
    implied = (
        LATEST if is_latest else FROM_SNAPSHOT if snapshot else FROM_TIMESTAMP if millis else None
    )
    mode = _agreed(table, mode, implied)
    return StreamOptions(
        mode=mode,
        snapshot=snapshot,
        millis=millis,
        limits={kind: most for kind, most in limits.items() if most is not None},
        consumer=parse(CONSUMER, _consumer),
        ignores_deletes=bool(parse(IGNORE_DELETES, boolean)),
    )


_NEEDS = {
    FROM_SNAPSHOT: SCAN_SNAPSHOT,
    FROM_SNAPSHOT_FULL: SCAN_SNAPSHOT,
    FROM_TIMESTAMP: SCAN_MILLIS,
}


def _agreed(table: str, mode: str | None, implied: str | None) -> str:
    """The mode, which options that say where to begin imply."""
    is_full = mode == FROM_SNAPSHOT_FULL and implied == FROM_SNAPSHOT
    if mode is None or mode == implied or is_full:
        return mode or implied or LATEST_FULL
    if implied is None and mode not in _NEEDS:
        return mode
    if implied is None:
        raise TableError(f"streaming table {table}: scan.mode = {mode} needs {_NEEDS[mode]}")
    raise TableError(
        f"streaming table {table}: scan.mode = {mode} does not go with options that mean {implied}"
    )


def _mode(text: str) -> str:
    found = _SAME.get(text.lower(), text.lower())
    if found not in _MODES:
        raise NotSupportedError(
            f"streaming a table: scan.mode = {text} is not supported, only {', '.join(_MODES)}"
        )
    return found


def _consumer(text: str) -> str:
    if not is_name(text):
        raise ValueError("a name that a file may have")
    return text
