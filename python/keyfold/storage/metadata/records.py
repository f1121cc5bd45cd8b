"""Records of manifests, manifest lists, index manifests and schemas, checked where they are
decoded.

Whoever may write a table may write its metadata too, and other people's jobs act on it: they read
and delete the files that it names. So a name is one part of a path, in a folder that the reader
chooses, and each field is of its type.
"""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Check = Callable[[Any], bool]

_LONGEST = 255  # bytes of a name, in any file system
_SEPARATORS = frozenset("/\\\0")
_HALF = re.compile("[\ud800-\udfff]")


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
    """Whether it is a string that UTF-8 can hold: JSON's may have halves of letters."""
    return isinstance(value, str) and (value.isascii() or not _HALF.search(value))


_EXPECTED: Mapping[Check, str] = {
    is_name: "a name in the table's own folder",
    is_int: "a number of 32 bits",
    is_long: "a number of 64 bits",
    is_text: "text",
}


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
        if record.get(name) is not None:
            _check_field(name, record[name], check)


def _check_field(name: str, value: Any, check: Check) -> None:
    if not check(value):
        what = _EXPECTED.get(check, "another value")
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


_KEY_IDS = (1 << 30) - 1  # ids from here on are of columns that only files have


def _is_id(value: Any) -> bool:
    return is_int(value) and 0 <= value < _KEY_IDS


def _is_type(value: Any) -> bool:
    """Whether it is text, or an object as types with parts have it."""
    if isinstance(value, dict):
        check_record(value, {"type": is_text}, _PARTS)
        return True
    return is_text(value)


def _are_fields(value: Any) -> bool:
    if not _each(_FIELD)(value):
        return False
    for part in ("id", "name"):
        _check_distinct(f"field {part}", (field[part] for field in value))
    return True


def _are_names(value: Any) -> bool:
    return _each(is_text)(value) and len(set(value)) == len(value)


def _are_options(value: Any) -> bool:
    if not isinstance(value, dict) or not all(map(is_text, value)):
        return False
    check_record(value, dict.fromkeys(value, is_text))
    return True


def _check_distinct(what: str, values: Iterable[Any]) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]!r:.300} is there twice")


_FIELD = _has(
    {"id": _is_id, "name": is_text, "type": _is_type},
    {"description": is_text, "defaultValue": is_text},
)
_PARTS = {"element": _is_type, "key": _is_type, "value": _is_type, "fields": _are_fields}
_SCHEMA = {
    "id": is_long,
    "fields": _are_fields,
    "highestFieldId": _is_id,
    "partitionKeys": _are_names,
    "primaryKeys": _are_names,
}
_OF_SCHEMA = {
    "version": is_int,
    "options": _are_options,
    "comment": is_text,
    "timeMillis": is_long,
}


def check_schema(found: Any) -> None:
    """The same for a schema file; ValueError where its parts don't fit each other."""
    check_record(found, _SCHEMA, _OF_SCHEMA)
    highest = max((field["id"] for field in found["fields"]), default=0)
    if highest > found["highestFieldId"]:
        raise ValueError(f"highestFieldId is {found['highestFieldId']}, a column has id {highest}")
    names = {field["name"] for field in found["fields"]}
    for keys in ("partitionKeys", "primaryKeys"):
        if not names.issuperset(found[keys]):
            raise ValueError(f"{keys} are {found[keys]!r:.300}, expected names of fields")
