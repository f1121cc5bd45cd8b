"""Changes of columns and of fields inside them, at a path as Spark writes it.

A table's columns are the fields of one ROW, so that a column and a field of a STRUCT are added,
dropped, renamed and moved alike. A path goes through `element` of an ARRAY, `key` and `value` of a
MAP, and the names of a STRUCT's fields.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from keyfold.errors import TableError
from keyfold.types.logical import Array, DataType, Field, Map, Row, describe
from keyfold.wire.layout import sql_name

Fields = tuple[Field, ...]
Path = Sequence[str]


def changed(root: DataType, path: Path, change: Callable[[DataType], DataType]) -> DataType:
    """`root` with the field at the path changed. Raises TableError if the path leads nowhere."""
    if not path:
        return change(root)
    step, rest = path[0], path[1:]
    match root:
        case Row(fields):
            place = position(fields, step)
            made = replace(fields[place], type=changed(fields[place].type, rest, change))
            return replace(root, fields=(*fields[:place], made, *fields[place + 1 :]))
        case Array(element) if step == "element":
            return replace(root, element=changed(element, rest, change))
        case Map(key, value) if step == "key":
            return replace(root, key=changed(key, rest, change), value=value)
        case Map(_, value) if step == "value":
            return replace(root, value=changed(value, rest, change))
    raise TableError(f"{describe(root)} has no field {sql_name(step)}")


def changed_fields(root: DataType, path: Path, change: Callable[[Fields], Fields]) -> DataType:
    """`root` with the fields of the STRUCT at the path changed. Raises TableError if the type is
    another one, nothing is left or two fields have one name.
    """

    def whole(found: DataType) -> DataType:
        if not isinstance(found, Row):
            raise TableError(f"{describe(found)} has no fields of its own")
        fields = change(found.fields)
        _check(fields)
        return replace(found, fields=fields)

    return changed(root, path, whole)


def _check(fields: Fields) -> None:
    if not fields:
        raise TableError("nothing would be left")
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise TableError(f"{sql_name(field.name)} exists")
        seen.add(field.name.lower())


def position(fields: Fields, name: str) -> int:
    """The place of the field of that name. Raises TableError, with all names, if it is missing."""
    names = [field.name for field in fields]
    if name not in names:
        raise TableError(f"there is no {sql_name(name)}; there are {', '.join(names)}")
    return names.index(name)


def placed(fields: Fields, field: Field, place: Mapping[str, str] | None) -> Fields:
    """The fields with one more: at the end (None), {"first": ""} or {"after": name}."""
    if place is None:
        return (*fields, field)
    at = 0 if "first" in place else position(fields, place["after"]) + 1
    return (*fields[:at], field, *fields[at:])


def moved(fields: Fields, name: str, place: Mapping[str, str]) -> Fields:
    """The fields in another order."""
    at = position(fields, name)
    if place.get("after") == name:
        return fields
    return placed((*fields[:at], *fields[at + 1 :]), fields[at], place)


def without(fields: Fields, name: str) -> Fields:
    at = position(fields, name)
    return (*fields[:at], *fields[at + 1 :])


def with_field(
    fields: Fields, name: str, *, to: str | None = None, comment: str | None = None
) -> Fields:
    """The fields with one renamed `to`, or else with another comment ("" takes it away)."""
    at = position(fields, name)
    changes = {"comment": comment or None} if to is None else {"name": to}
    return (*fields[:at], replace(fields[at], **changes), *fields[at + 1 :])


def type_at(root: DataType, path: Path) -> DataType:
    found: list[DataType] = []

    def look(kind: DataType) -> DataType:
        found.append(kind)
        return kind

    changed(root, path, look)
    return found[0]
