"""Names of table options, and the columns they name. The stored spelling is Paimon's; names of
other systems are translated into it at CREATE and when stored options are parsed.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping

from keyfold.errors import NotSupportedError, TableError
from keyfold.options import fluss, paimon
from keyfold.options.column_options import FIELD_ALIASES, FIELD_OPTIONS
from keyfold.options.declared import (
    DEFAULT_PREFIX,
    INITIAL_PREFIX,
    PIPELINES_PREFIX,
    TAG_PREFIX,
    aliases,
    known,
)
from keyfold.options.values import shown

SPARKS_OWN = frozenset(
    ["comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"]
)
# Properties of CREATE that a table's options don't hold.
_FIXED = ("primary-key", "partition", "location", "provider", *fluss.TRANSLATED)
# Options that tables may have, and that have no effect here, by the system that they tune.
TUNING = {"Paimon": paimon.TUNING, "Fluss": fluss.TUNING}
FIELD = re.compile(r"^fields\.(.+)\.([^.]+)$")
BLOOM = re.compile(r"^file-index\.bloom-filter\.(.+)\.(items|fpp)$")
_FIELD_ALIAS = re.compile(
    rf"^fields\.(.+?)(?:\.[\w-]+(?=\.delimiter$))?\.({'|'.join(map(re.escape, FIELD_ALIASES))})$",
    re.IGNORECASE,
)


def normalize(properties: Mapping[str, str]) -> dict[str, str]:
    """Stored spelling of table properties: aliases translated, Spark's own additions removed."""
    stored: dict[str, str] = {}
    for name, text in properties.items():
        if name in SPARKS_OWN or name.startswith("option."):
            continue
        target = _stored_name(name)
        _check_fluss_delimiter(name, target, text)
        if stored.setdefault(target, text) != text:
            raise _twice(target, stored[target], text)
    for name, text in fluss.translate(stored).items():
        if stored.setdefault(name, text).strip().lower() != text.lower():
            raise _twice(name, stored[name], text)
    for name in fluss.TRANSLATED:
        stored.pop(name, None)
    return _keeping_blanks(properties) | stored


def _twice(name: str, first: str, second: str) -> TableError:
    return TableError(
        f"option {shown(name)} is given twice: '{shown(first)}' and '{shown(second)}'"
    )


def _check_fluss_delimiter(name: str, target: str, text: str) -> None:
    """Refuse an empty delimiter under Fluss' name, as Fluss does; Paimon joins without one."""
    if target != name and target.endswith(".list-agg-delimiter") and not text:
        raise TableError(
            f"option {name}: Parameter 'delimiter' for aggregation function 'listagg' must be a "
            "non-empty string"
        )


def _keeping_blanks(properties: Mapping[str, str]) -> dict[str, str]:
    """The options for listagg under Fluss' name of the function's option: blank texts join too."""
    found = {}
    for name, text in properties.items():
        match = _FIELD_ALIAS.match(name)
        is_listagg = text.strip().lower().replace("-", "_") in ("listagg", "string_agg")
        if match is not None and match[2].lower() == "agg" and is_listagg:
            found[f"fields.{match[1]}.list-agg-skip-blank"] = "false"
    return found


def _stored_name(name: str) -> str:
    match = _FIELD_ALIAS.match(name)
    if match is not None:
        return f"fields.{match[1]}.{FIELD_ALIASES[match[2].lower()]}"
    return aliases().get(name, name)


def is_of_table(name: str, engine: str | None) -> bool:
    """Whether this is the name of a table's option, here or in another system."""
    return (
        _stored_name(name) in (*known(engine), "primary-key")
        or FIELD.match(name) is not None
        or BLOOM.match(name) is not None
        or name.startswith((TAG_PREFIX, PIPELINES_PREFIX, "option."))
        or name in SPARKS_OWN | paimon.PAIMON_OPTIONS | fluss.OPTIONS | {fluss.LOG_TTL}
    )


def is_fixed(name: str, engine: str | None, *, has_data: bool) -> bool:
    """Whether ALTER TABLE can't set the option; `has_data`: the table holds data."""
    if name in _FIXED or name.startswith((DEFAULT_PREFIX, INITIAL_PREFIX)):
        return True
    option = known(engine).get(name)
    return option is not None and (
        option.changes == "never" or (has_data and option.changes == "while empty")
    )


def may_differ(name: str, text: str, options: Mapping[str, str]) -> bool:
    """Whether a call may have this value: it is the table's, or decides nothing about its rows."""
    option = known(options.get("merge-engine")).get(name)
    if option is None:
        return name.startswith((TAG_PREFIX, PIPELINES_PREFIX)) or options.get(name) == text
    return option.changes == "in a call" or options.get(name, option.default) == text


def unknown_option(table: str, name: str, engine: str | None) -> TableError | NotSupportedError:
    """The error for a name we lack: known elsewhere, or unknown, with the nearest known name."""
    for system, names in (("Paimon", paimon.PAIMON_OPTIONS), ("Fluss", fluss.OPTIONS)):
        if name in names:
            return NotSupportedError(
                f"option {name} of table {table} is known to {system} but not supported here"
            )
    near = difflib.get_close_matches(name.lower(), names_nearby(name, engine), 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return TableError(
        f"option {shown(name)} of table {table} is unknown{hint} "
        f"(names that begin with {TAG_PREFIX} are free for your own tags)"
    )


def without_effect(table: str, options: Iterable[str]) -> str | None:
    """The note about those of a table's options that only tune another system; None if it has none
    of them.
    """
    found = [
        f"{', '.join(sorted(tuned.intersection(options)))} ({system})"
        for system, tuned in TUNING.items()
        if tuned.intersection(options)
    ]
    if not found:
        return None
    return f"NOTE: table {table}: options without effect here, which are stored: {'; '.join(found)}"


def names_nearby(name: str, engine: str | None) -> Iterable[str]:
    """The names that a misspelt one may have meant."""
    match = re.match(r"^fields\.([^.]+)\.", name)
    column = match[1] if match else "<column>"
    fields = (f"fields.{column}.{suffix}" for suffix in FIELD_OPTIONS)
    return [*known(engine), *aliases(), "primary-key", *fields]


def named_columns(option: str, text: str, engine: str | None) -> tuple[list[str], list[str]]:
    """The columns in the name of an option and those in its value."""
    for prefix in (DEFAULT_PREFIX, INITIAL_PREFIX):
        if option.startswith(prefix):
            return [option.removeprefix(prefix)], []
    if (found := BLOOM.match(option)) is not None:
        return [found[1]], []
    match = FIELD.match(option)
    declared = known(engine).get(option) if match is None else FIELD_OPTIONS.get(match[2])
    in_value = parts(text) if declared is not None and declared.names_columns else []
    return ([] if match is None else parts(match[1])), in_value


def with_columns(options: Mapping[str, str], rename: Callable[[str], str]) -> dict[str, str]:
    """The options with every column that their names and values name under another name."""
    found = {}
    for name, text in options.items():
        in_name, in_value = named_columns(name, text, options.get("merge-engine"))
        new = ",".join(map(rename, in_name))
        match = FIELD.match(name)
        if match is not None:
            name = f"fields.{new}.{match[2]}"
        elif (match := BLOOM.match(name)) is not None:
            name = f"file-index.bloom-filter.{new}.{match[2]}"
        elif in_name:
            name = name.removesuffix(in_name[0]) + new
        found[name] = ",".join(map(rename, in_value)) if in_value else text
    return found


def parts(text: str) -> list[str]:
    """The names in a list."""
    return [part.strip() for part in text.split(",")]
