"""Names of table options in their stored spelling, Paimon's: other systems' names and values are
translated, at CREATE and where stored options are parsed.
"""

import difflib
import re
from collections.abc import Iterable, Mapping

from keyfold.errors import NotSupportedError, TableError
from keyfold.options import fluss
from keyfold.options.declared import FIELD_ALIASES, FIELD_OPTIONS, OPTIONS
from keyfold.options.paimon import PAIMON_OPTIONS

TAG_PREFIX = "keyfold.tag."
DEFAULT_PREFIX = "keyfold.default."
# What rows stored before the column was added have in it: the wire's literal, as JSON.
INITIAL_PREFIX = "keyfold.initial-default."

# Options whose values are column names.
NAMING = (
    "bucket-key",
    "sequence.field",
    "rowkind.field",
    "partial-update.remove-record-on-sequence-group",
    "table.merge-engine.versioned.ver-column",
)
# Field options, by suffix, whose values are column names.
FIELD_NAMING = ("sequence-group",)
# Those whose values are names of fields inside of the column.
FIELD_NESTED = ("nested-key", "nested-sequence-field", "ts-field")

_SPARKS_OWN = {
    "comment",
    "external",
    "is_managed_location",
    "location",
    "owner",
    "provider",
    "table_type",
}
FIELD = re.compile(r"^fields\.(.+)\.([^.]+)$")
_FIELD_ALIAS = re.compile(
    rf"^fields\.(.+?)(?:\.[\w-]+(?=\.delimiter$))?\.({'|'.join(map(re.escape, FIELD_ALIASES))})$",
    re.IGNORECASE,
)


ALIASES = {alias: option.name for option in OPTIONS for alias in option.aliases}


def normalize(properties: Mapping[str, str]) -> dict[str, str]:
    """Stored spelling of table properties: aliases translated, what Spark itself adds taken out."""
    stored: dict[str, str] = {}
    for name, text in properties.items():
        if name in _SPARKS_OWN or name.startswith("option."):
            continue
        target = _stored_name(name)
        _check_fluss_delimiter(name, target, text)
        if stored.setdefault(target, text) != text:
            raise _twice(target, stored[target], text)
    for name, text in fluss.translate(stored).items():
        if stored.setdefault(name, text).strip().lower() != text.lower():
            raise _twice(name, stored[name], text)
    stored.pop(fluss.ENGINE, None)
    return _keeping_blanks(properties) | stored


def _twice(name: str, first: str, second: str) -> TableError:
    return TableError(f"option {name} is given twice: '{first}' and '{second}'")


def _check_fluss_delimiter(name: str, target: str, text: str) -> None:
    """Fluss refuses an empty delimiter, Paimon joins without one: each name means its own."""
    if target != name and target.endswith(".list-agg-delimiter") and not text:
        raise TableError(
            f"option {name}: Parameter 'delimiter' for aggregation function 'listagg' must be a "
            "non-empty string"
        )


def _keeping_blanks(properties: Mapping[str, str]) -> dict[str, str]:
    """Fluss joins blank texts too: where its name for the function's option says listagg."""
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
    return ALIASES.get(name, name)


def is_of_table(name: str) -> bool:
    """Whether an option of this name says something of a table, here or in another system."""
    return (
        _stored_name(name) in (*(option.name for option in OPTIONS), "primary-key")
        or FIELD.match(name) is not None
        or name.startswith((TAG_PREFIX, "option."))
        or name in _SPARKS_OWN | PAIMON_OPTIONS | fluss.OPTIONS
    )


def unknown_option(table: str, name: str) -> TableError | NotSupportedError:
    """The error for a name we lack: known to Paimon, or unknown with the nearest known name."""
    if name in PAIMON_OPTIONS:
        return _known_to_paimon(table, name)
    if name in fluss.OPTIONS:
        return NotSupportedError(
            f"option {name} of table {table} is known to Fluss but not supported here"
        )
    near = difflib.get_close_matches(name.lower(), names_nearby(name), 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return TableError(
        f"option {name} of table {table} is unknown{hint} "
        f"(names that begin with {TAG_PREFIX} are free for your own tags)"
    )


def _known_to_paimon(table: str, name: str) -> NotSupportedError:
    return NotSupportedError(
        f"option {name} of table {table} is known to Paimon but not supported here"
    )


def names_nearby(name: str) -> Iterable[str]:
    """The names that a misspelt one may have meant."""
    known = [*(option.name for option in OPTIONS), *ALIASES, "primary-key"]
    match = re.match(r"^fields\.([^.]+)\.", name)
    return known + [
        f"fields.{match[1] if match else '<column>'}.{suffix}" for suffix in FIELD_OPTIONS
    ]
