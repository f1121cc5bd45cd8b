"""Records of manifests, manifest lists and index manifests, checked where they are decoded.

Whoever may write a table may write its metadata too, and other people's jobs act on it: they read
and delete the files that it names. So a name is one part of a path, in a folder that the reader
chooses, and each field is of its type.
"""

import datetime
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]

_LONGEST = 255  # bytes of a name, in any file system
_SEPARATORS = frozenset("/\\\0")


def is_name(value: Any) -> bool:
    """Whether it is one part of a path, which leads into no other folder."""
    if not isinstance(value, str) or value in ("", ".", "..") or not _SEPARATORS.isdisjoint(value):
        return False
    return len(value.encode(errors="surrogatepass")) <= _LONGEST and value.isprintable()


def is_int(value: Any) -> bool:
    """Whether it is an INT."""
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def is_long(value: Any) -> bool:
    """Whether it is a BIGINT: Avro's numbers have no end."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def is_text(value: Any) -> bool:
    """Whether it is a string."""
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _is_time(value: Any) -> bool:
    return is_long(value) or isinstance(value, datetime.datetime)


def maybe(check: Check) -> Check:
    """The same, or NULL."""
    return lambda value: value is None or check(value)


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _has(fields: Mapping[str, Check], later: Mapping[str, Check] | None = None) -> Check:
    """A record with these fields; those that came `later` may be missing."""

    def check(value: Any) -> bool:
        check_record(value, fields, later or {})
        return True

    return check


def check_record(
    record: Any, fields: Mapping[str, Check], later: Mapping[str, Check] | None = None
) -> None:
    """KeyError or TypeError, naming the field, where a record is not what all engines write."""
    for name, check in fields.items():
        _check_field(name, record[name], check)
    for name, check in (later or {}).items():
        if name in record:
            _check_field(name, record[name], maybe(check))


def _check_field(name: str, value: Any, check: Check) -> None:
    if not check(value):
        what = "a name in the table's own folder" if isinstance(value, str) else "another value"
        raise TypeError(f"{name} is {value!r:.300}, expected {what}")


_STATS = _has(
    {
        "_MIN_VALUES": _is_bytes,
        "_MAX_VALUES": _is_bytes,
        "_NULL_COUNTS": maybe(_each(maybe(is_long))),
    }
)
_FILE = _has(
    {
        "_FILE_NAME": is_name,
        "_FILE_SIZE": is_long,
        "_ROW_COUNT": is_long,
        "_MIN_KEY": _is_bytes,
        "_MAX_KEY": _is_bytes,
        "_KEY_STATS": _STATS,
        "_VALUE_STATS": _STATS,
        "_MIN_SEQUENCE_NUMBER": is_long,
        "_MAX_SEQUENCE_NUMBER": is_long,
        "_SCHEMA_ID": is_long,
        "_LEVEL": is_int,
        "_EXTRA_FILES": maybe(_each(is_name)),
        "_CREATION_TIME": maybe(_is_time),
        "_DELETE_ROW_COUNT": maybe(is_long),
    },
    {
        "_EMBEDDED_FILE_INDEX": _is_bytes,
        "_FILE_SOURCE": is_int,
        "_VALUE_STATS_COLS": _each(is_text),
        "_EXTERNAL_PATH": is_text,  # any: nothing is read or deleted there
        "_FIRST_ROW_ID": is_long,
        "_WRITE_COLS": _each(is_text),
        "_WRITE_COLS_SEQUENCES": _each(is_long),
    },
)

ENTRY = _has(
    {
        "_VERSION": is_int,
        "_KIND": is_int,
        "_PARTITION": _is_bytes,
        "_BUCKET": is_int,
        "_TOTAL_BUCKETS": is_int,
        "_FILE": _FILE,
    }
)
LISTED = _has(
    {
        "_VERSION": is_int,
        "_FILE_NAME": is_name,
        "_FILE_SIZE": is_long,
        "_NUM_ADDED_FILES": is_long,
        "_NUM_DELETED_FILES": is_long,
        "_PARTITION_STATS": _STATS,
        "_SCHEMA_ID": is_long,
    },
    {
        "_EXTRA_FILES": _each(is_name),
        "_MIN_BUCKET": is_int,
        "_MAX_BUCKET": is_int,
        "_MIN_LEVEL": is_int,
        "_MAX_LEVEL": is_int,
        "_TOTAL_BUCKETS": is_int,
        "_MIN_ROW_ID": is_long,
        "_MAX_ROW_ID": is_long,
    },
)
INDEXED = _has({"_INDEX_TYPE": is_text, "_FILE_NAME": is_name})
