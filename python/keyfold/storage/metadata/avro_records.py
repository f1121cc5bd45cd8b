"""Records of manifests, manifest lists, index manifests and schemas, checked where they are
decoded.

A user who may write a table may write its metadata too. Other people's jobs act on it: they read
and delete the files that it names. So a name is one part of a path, in a folder that the reader
chooses, and each field is of its type.
"""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Check = Callable[[Any], bool]
Json = dict[str, Any]

LONGEST = 255  # bytes of a name, in any file system
_SEPARATORS = frozenset("/\\\0")
_HALF = re.compile("[\ud800-\udfff]")


def is_name(value: Any) -> bool:
    """Whether it is one part of a path, which leads into no other folder."""
    if not isinstance(value, str) or value in ("", ".", "..") or not _SEPARATORS.isdisjoint(value):
        return False
    return len(value.encode(errors="surrogatepass")) <= LONGEST and value.isprintable()


def is_int(value: Any) -> bool:
    """Whether it is an INT."""
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def is_long(value: Any) -> bool:
    """Whether it is a BIGINT: Avro's numbers have no end."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def is_text(value: Any) -> bool:
    """Whether it is a string that UTF-8 can hold: JSON's may have halves of letters."""
    return isinstance(value, str) and (value.isascii() or not _HALF.search(value))


def is_texts(value: Any) -> bool:
    """Whether it is texts by name."""
    return isinstance(value, dict) and all(map(is_text, [*value, *value.values()]))


_EXPECTED: Mapping[Check, str] = {
    is_name: "a name in the table's own folder",
    is_int: "a number of 32 bits",
    is_long: "a number of 64 bits",
    is_text: "text",
    is_texts: "texts by name",
}


def is_bytes(value: Any) -> bool:
    """Whether it is bytes."""
    return isinstance(value, bytes)


def is_time(value: Any) -> bool:
    """Whether it is milliseconds, or what Avro's libraries make of them."""
    return is_long(value) or isinstance(value, datetime.datetime)


def maybe(check: Check) -> Check:
    """A check that passes NULL too."""
    return lambda value: value is None or check(value)


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _has(fields: Mapping[str, Check], later: Mapping[str, Check] | None = None) -> Check:
    """A check of a record with these fields; those that came `later` may be missing."""

    def check(value: Any) -> bool:
        check_record(value, fields, later or {})
        return True

    return check


def check_record(
    record: Any, fields: Mapping[str, Check], later: Mapping[str, Check] | None = None
) -> None:
    """Raises KeyError or TypeError, naming the field, if a record is not what all engines write."""
    for name, check in fields.items():
        _check_field(name, record[name], check)
    for name, check in (later or {}).items():
        if record.get(name) is not None:
            _check_field(name, record[name], check)


def _check_field(name: str, value: Any, check: Check) -> None:
    if not check(value):
        what = _EXPECTED.get(check, "another value")
        raise TypeError(f"{name} is {value!r:.300}, expected {what}")


@dataclass(frozen=True)
class AvroField:
    """A field of an Avro record: its type, the check of its values but NULL, whether it may be
    NULL, and whether it came later, so that older files lack it. A record has the fields `inside`,
    a list `items` of one kind.
    """

    avro: Any
    check: Check
    nullable: bool = False
    later: bool = False
    inside: Mapping[str, "AvroField"] | None = None
    items: "AvroField | None" = None

    @property
    def checked(self) -> Check:
        """The check of its values, NULL among them."""
        return maybe(self.check) if self.nullable else self.check


def _later(avro: Any, check: Check) -> AvroField:
    return AvroField(["null", avro], check, nullable=True, later=True)


def _array(items: Any) -> Json:
    return {"type": "array", "items": items}


def _later_list(items: AvroField) -> AvroField:
    avro, check = ["null", _array(items.avro)], _each(items.checked)
    return AvroField(avro, check, nullable=True, later=True, items=items)


def _avro(name: str, declared: Mapping[str, AvroField]) -> Json:
    """The Avro schema of a record; a field that may be NULL is so by default."""
    found: list[Json] = [{"name": key, "type": field.avro} for key, field in declared.items()]
    nullable = [each for each in found if isinstance(each["type"], list)]
    for each in nullable:
        each["default"] = None
    return {"type": "record", "name": name, "fields": found}


def _checks(declared: Mapping[str, AvroField]) -> Check:
    return _has(
        {name: field.checked for name, field in declared.items() if not field.later},
        {name: field.check for name, field in declared.items() if field.later},
    )


_INT, _LONG = AvroField("int", is_int), AvroField("long", is_long)
_NAME, _BYTES = AvroField("string", is_name), AvroField("bytes", is_bytes)
_LATER_INT, _LATER_LONG = _later("int", is_int), _later("long", is_long)
_TEXT, _COUNT = AvroField("string", is_text), AvroField(["null", "long"], is_long, nullable=True)
_STATISTICS = {
    "_MIN_VALUES": _BYTES,
    "_MAX_VALUES": _BYTES,
    "_NULL_COUNTS": AvroField(
        ["null", _array(_COUNT.avro)], _each(_COUNT.checked), nullable=True, items=_COUNT
    ),
}
_ARE_STATISTICS = _checks(_STATISTICS)


def _statistics(of: str) -> AvroField:
    return AvroField(_avro(f"record_{of}_STATS", _STATISTICS), _ARE_STATISTICS, inside=_STATISTICS)


_FILE = {
    "_FILE_NAME": _NAME,
    "_FILE_SIZE": _LONG,
    "_ROW_COUNT": _LONG,
    "_MIN_KEY": _BYTES,
    "_MAX_KEY": _BYTES,
    "_KEY_STATS": _statistics("KEY"),
    "_VALUE_STATS": _statistics("VALUE"),
    "_MIN_SEQUENCE_NUMBER": _LONG,
    "_MAX_SEQUENCE_NUMBER": _LONG,
    "_SCHEMA_ID": _LONG,
    "_LEVEL": _INT,
    "_EXTRA_FILES": AvroField(_array("string"), _each(is_name), nullable=True, items=_NAME),
    "_CREATION_TIME": AvroField(
        ["null", {"type": "long", "logicalType": "timestamp-millis"}], is_time, nullable=True
    ),
    "_DELETE_ROW_COUNT": _COUNT,
    "_EMBEDDED_FILE_INDEX": _later("bytes", is_bytes),
    "_FILE_SOURCE": _LATER_INT,
    "_VALUE_STATS_COLS": _later_list(_TEXT),
    "_EXTERNAL_PATH": _later("string", is_text),  # any: nothing is read or deleted there
    "_FIRST_ROW_ID": _LATER_LONG,
    "_WRITE_COLS": _later_list(_TEXT),
    "_WRITE_COLS_SEQUENCES": _later_list(_LONG),
}
ENTRY_FIELDS = {
    "_VERSION": _INT,
    "_KIND": _INT,
    "_PARTITION": _BYTES,
    "_BUCKET": _INT,
    "_TOTAL_BUCKETS": _INT,
    "_FILE": AvroField(_avro("DataFileMeta", _FILE), _checks(_FILE), inside=_FILE),
}
_LISTED = {
    "_VERSION": _INT,
    "_FILE_NAME": _NAME,
    "_FILE_SIZE": _LONG,
    "_NUM_ADDED_FILES": _LONG,
    "_NUM_DELETED_FILES": _LONG,
    "_PARTITION_STATS": _statistics("PARTITION"),
    "_SCHEMA_ID": _LONG,
    "_MIN_BUCKET": _LATER_INT,
    "_MAX_BUCKET": _LATER_INT,
    "_MIN_LEVEL": _LATER_INT,
    "_MAX_LEVEL": _LATER_INT,
    "_MIN_ROW_ID": _LATER_LONG,
    "_MAX_ROW_ID": _LATER_LONG,
    "_TOTAL_BUCKETS": _LATER_INT,
    "_EXTRA_FILES": _later_list(_NAME),
}
ENTRY, ENTRY_SCHEMA = _checks(ENTRY_FIELDS), _avro("ManifestEntry", ENTRY_FIELDS)
LISTED, LIST_SCHEMA = _checks(_LISTED), _avro("ManifestFileMeta", _LISTED)
INDEXED = _has({"_INDEX_TYPE": is_text, "_FILE_NAME": is_name})
_RANGE = {"f0": _NAME, "f1": _INT, "f2": _INT, "_CARDINALITY": _LATER_LONG}
_RANGES = AvroField(_avro("VectorRange", _RANGE), _checks(_RANGE), inside=_RANGE)
_INDEX = {
    "_VERSION": _INT,
    "_KIND": _INT,
    "_PARTITION": _BYTES,
    "_BUCKET": _INT,
    "_INDEX_TYPE": _TEXT,
    "_FILE_NAME": _NAME,
    "_FILE_SIZE": _LONG,
    "_ROW_COUNT": _LONG,
    "_DELETIONS_VECTORS_RANGES": _later_list(_RANGES),
    "_EXTERNAL_PATH": _later("string", is_text),
}
INDEX_SCHEMA = _avro("IndexManifestEntry", _INDEX)
_OF_BUCKET = {
    "_KIND": is_int,
    "_PARTITION": is_bytes,
    "_BUCKET": is_int,
    "_FILE_SIZE": is_long,
    "_ROW_COUNT": is_long,
}


def check_index(record: Any, *, has_ranges: bool) -> None:
    """`check_record` of an entry of an index manifest about a bucket: hashes of its keys, or the
    places of deletion vectors, if it `has_ranges`.
    """
    ranges = {"_DELETIONS_VECTORS_RANGES": _each(_RANGES.check)} if has_ranges else {}
    check_record(record, _OF_BUCKET | ranges, {"_EXTERNAL_PATH": is_text})


_KEY_IDS = (1 << 30) - 1  # ids from here on are of columns that only files have


def _is_id(value: Any) -> bool:
    return is_int(value) and 0 <= value < _KEY_IDS


def _is_type(value: Any) -> bool:
    """Whether it is text, or the object of a type with parts."""
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
_OF_SCHEMA = {"version": is_int, "options": _are_options, "comment": is_text, "timeMillis": is_long}


def check_schema(found: Any) -> None:
    """`check_record` of a schema file. Raises ValueError if its parts don't fit each other."""
    check_record(found, _SCHEMA, _OF_SCHEMA)
    highest = max((field["id"] for field in found["fields"]), default=0)
    if highest > found["highestFieldId"]:
        raise ValueError(f"highestFieldId is {found['highestFieldId']}, a column has id {highest}")
    names = {field["name"] for field in found["fields"]}
    for keys in ("partitionKeys", "primaryKeys"):
        if not names.issuperset(found[keys]):
            raise ValueError(f"{keys} are {found[keys]!r:.300}, expected names of fields")
