"""The options of a table that name one of its columns: renamed with it, dropped with it."""

from collections.abc import Iterator, Mapping

from keyfold.options import (
    DEFAULT_PREFIX,
    FIELD,
    FIELD_NAMING,
    FIELD_NESTED,
    INITIAL_PREFIX,
    NAMING,
)

Options = Mapping[str, str]


def renamed(options: Options, old: str, new: str) -> dict[str, str]:
    """The options after a column got another name."""
    return {_name(name, old, new): _value(name, text, old, new) for name, text in options.items()}


def renamed_field(options: Options, column: str, old: str, new: str) -> dict[str, str]:
    """The options after a field inside of a column got another name."""
    found = dict(options)
    for suffix in FIELD_NESTED:
        name = f"fields.{column}.{suffix}"
        if name in found:
            found[name] = _listed(found[name], old, new)
    return found


def without(options: Options, column: str) -> dict[str, str]:
    """The options after a column was dropped that none of `needing` names."""
    own = {DEFAULT_PREFIX + column, INITIAL_PREFIX + column}
    kept = {}
    for name, text in options.items():
        match = FIELD.match(name)
        if name in own or (match is not None and match[1] == column):
            continue
        if match is not None and match[2] in FIELD_NAMING:
            text = ",".join(part for part in _parts(text) if part != column)
        kept[name] = text
    return kept


def needing(options: Options, column: str) -> Iterator[str]:
    """The options that would mean something else without the column: they order records by it, or
    hash it, or protect nothing but it.
    """
    for name, text in options.items():
        match = FIELD.match(name)
        if name in NAMING and column in _parts(text):
            yield name
        elif match is None or match[2] not in FIELD_NAMING:
            continue
        elif column in _parts(match[1]) or _parts(text) == [column]:
            yield name


def needing_field(options: Options, column: str, field: str) -> Iterator[str]:
    """The same for a field inside of a column."""
    for suffix in FIELD_NESTED:
        name = f"fields.{column}.{suffix}"
        if field in _parts(options.get(name, "")):
            yield name


def _name(option: str, old: str, new: str) -> str:
    for prefix in (DEFAULT_PREFIX, INITIAL_PREFIX):
        if option == prefix + old:
            return prefix + new
    match = FIELD.match(option)
    return option if match is None else f"fields.{_listed(match[1], old, new)}.{match[2]}"


def _value(option: str, text: str, old: str, new: str) -> str:
    match = FIELD.match(option)
    is_naming = option in NAMING or (match is not None and match[2] in FIELD_NAMING)
    return _listed(text, old, new) if is_naming else text


def _listed(text: str, old: str, new: str) -> str:
    parts = _parts(text)
    return ",".join(new if part == old else part for part in parts) if old in parts else text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]
