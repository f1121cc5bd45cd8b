"""Expected errors: ours need not have the system's words, but must name the thing at fault.

Names are what the case itself calls something: its columns, types, options, their values, its
functions. At fault are those that the expected text contains, and all that an option names which
it contains. Where it contains none or types alone, whatever the options name may be at fault, and
a column of such a type.
"""

import re
from collections.abc import Iterable

from integration.conformance.case import Case, Raw, Refusal

SHORT = (
    2  # so short a name is also a word, or a part of anything: it counts only where it is marked
)
MARK = r"(?:[`'\"(\[.]|\b(?:column|field|key)s?:? )"
CLAUSES = {"primary-key"}  # what a table has besides columns and options
ECHOES = (
    "\n== SQL",
    "== SQL",
    "\n\tat ",
    "JVM stacktrace",
    "\n\nIn Python:",
    "\n\nDriver stacktrace",
)


def declared(raw: Raw) -> frozenset[str]:
    """What the table's form names: columns, types, kinds of aggregation, targets of its writes."""
    found = {text for name, kind in raw["columns"] for text in (name, kind, _root(kind))}
    found |= set(raw.get("primary_key") or raw.get("key") or ())
    found |= set(raw.get("partition_by") or ()) | set(raw.get("key_clause") or ())
    found |= set((raw.get("agg") or {}).values()) | {raw["engine"]}
    for commit in raw["commits"]:
        for change in commit if isinstance(commit, list) else ():
            if isinstance(change, dict):
                found |= set(change.get("target_columns") or ())
    return frozenset(found | CLAUSES)


def _root(kind: str) -> str:
    return re.split(r"[ (<]", kind, maxsplit=1)[0]


def configured(raw: Raw) -> list[frozenset[str]]:
    """What each option names: itself, the columns in its name, the items of its value."""
    return [_of_option(n, str(value)) for n, value in (raw.get("options") or {}).items()]


def _of_option(name: str, value: str) -> frozenset[str]:
    found = {name, name.removesuffix(".enabled"), *(item.strip() for item in value.split(","))}
    if name.startswith("fields."):
        columns, _, suffix = name.removeprefix("fields.").partition(".")
        found |= {suffix, *columns.split(",")}
    return frozenset(found - {"", "true", "false"})


def at_fault(case: Case, expected: str) -> frozenset[str]:
    """The names, one of which an error must mention to be the expected one."""
    options = frozenset().union(*case.configured)
    named = frozenset(name for name in case.declared | options if mentions(expected, name))
    if not named:
        return options or case.declared
    types = {text for _, kind in case.columns for text in (kind, _root(kind))}
    if named <= types:
        of_type = {column for column, kind in case.columns if {kind, _root(kind)} & named}
        return named | options | of_type
    return named.union(*(option for option in case.configured if option & named))


def mentions(text: str, name: str) -> bool:
    """Whether `text` contains the name as a word. Letter case doesn't matter, nor whether the parts
    of a name are joined by a dot, a hyphen, `_` or a blank, nor Fluss' `table.` before it.
    """
    parts = re.split(r"[-._ ]", name.lower().removeprefix("table."))
    word = r"[-._ ]".join(map(re.escape, parts))
    start = MARK if len(name) <= SHORT else r"(?<![a-z0-9_])"
    return re.search(start + word + r"(?![a-z0-9_])", " ".join(text.lower().split())) is not None


def message(text: str) -> str:
    """An error's words without the statement and the traces that follow them."""
    ends = [text.find(echo) for echo in ECHOES if echo in text]
    return text[: min(ends)].strip() if ends else text.strip()


def difference(case: Case, expected: Refusal, text: str) -> str | None:
    """Why an error of ours is not the expected one, None where it is."""
    if expected.text.lower() in text.lower():
        return None
    names = at_fault(case, expected.text)
    if any(mentions(text, name) for name in names):
        return None
    return f"an error that names one of {listed(names)}"


def listed(names: Iterable[str]) -> str:
    """Names for a message."""
    return ", ".join(sorted(names))
