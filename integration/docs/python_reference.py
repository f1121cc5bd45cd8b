"""docs/python-reference.md: functions and classes of `import keyfold`, from their docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import keyfold
from keyfold import errors
from keyfold.tables.change_scan import Changes
from keyfold.tables.statements.builder import Merge
from keyfold.tables.time_travel import Branches, Tags
from keyfold.tables.transactions.transaction import Transaction

FUNCTIONS = (
    ("keyfold.connect", keyfold.connect),
    ("keyfold.configure", keyfold.configure),
    ("keyfold.register", keyfold.register),
    ("keyfold.aggregate", keyfold.aggregate.__call__),
    ("keyfold.aggregate.pick", keyfold.aggregate.pick),
    ("keyfold.aggregate.combine", keyfold.aggregate.combine),
    ("keyfold.aggregate.gather", keyfold.aggregate.gather),
    ("keyfold.engine", keyfold.engine),
    ("keyfold.catch_errors", keyfold.catch_errors),
    ("keyfold.jar_path", keyfold.jar_path),
)
CLASSES = (
    *(keyfold.Catalog, keyfold.Table, Transaction, keyfold.Scan),
    *(Merge, Changes, Tags, Branches),
)
_HEAD = re.compile(r"(Args|Returns|Raises|Yields):")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \w+)*): ?(.*)")
_WIDTH = 88


def reference() -> str:
    """A section for the functions, one for each class, and one for the errors."""
    parts = ["## Functions", *(_entry(name, one) for name, one in FUNCTIONS)]
    for one in CLASSES:
        parts += [f"## {one.__name__}", _body(one)]
        parts += [_entry(f"{one.__name__}.{name}", member) for name, member in _members(one)]
    return "\n\n".join([*parts, "## Errors", _errors()])


def _members(one: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties: in the order of the source, those of base classes last."""
    seen: set[str] = set()
    for base in one.__mro__[:-1]:
        if base.__module__.startswith("keyfold."):
            for name, member in vars(base).items():
                is_call = callable(member) or isinstance(member, property)
                has_words = is_call and inspect.getdoc(member) is not None
                if has_words and not name.startswith("_") and name not in seen:
                    seen.add(name)
                    yield name, member


def _entry(name: str, found: Any) -> str:
    if isinstance(found, property):
        gives = inspect.signature(found.fget).return_annotation  # type: ignore[arg-type]
        return f"### {name}\n\n```pyi\n{name}: {_type(gives)}\n```\n\n{_body(found)}"
    return f"### {name}\n\n```pyi\n{_signature(name, found)}\n```\n\n{_body(found)}"


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name != "self"]
    shown = [_shown(one) for one in given]
    named = [at for at, one in enumerate(given) if one.kind is one.KEYWORD_ONLY]
    if named and not any(one.kind is one.VAR_POSITIONAL for one in given):
        shown.insert(named[0], "*")
    gives = signature.return_annotation
    end = "" if gives in (signature.empty, "None", None) else f" -> {_type(gives)}"
    line = f"{name}({', '.join(shown)}){end}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){end}"


def _shown(one: inspect.Parameter) -> str:
    """A parameter as users read it: types without their modules."""
    if one.name == "misplaced":  # takes what belongs into keywords, to say so
        return "*"
    words = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
    if one.annotation is not one.empty:
        words += f": {_type(one.annotation)}"
    if one.default is one.empty:
        return words
    return textwrap.fill(
        f"{words} = {one.default!r}", _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False
    )


def _type(annotation: Any) -> str:
    shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", shown)


def _body(found: Any) -> str:
    """A docstring as Markdown: its parts become lists."""
    lines = (inspect.getdoc(found) or "").splitlines()
    out: list[str] = []
    part = ""
    for line in lines:
        head, entry = _HEAD.fullmatch(line), _ENTRY.fullmatch(line.strip())
        if head:
            part = head[1]
            out += [f"*{part}*", ""]
        elif part and line.startswith("    ") and not line.startswith("     ") and entry:
            out.append(f"- `{entry[1]}`: {entry[2]}")
        elif part and line:
            out.append(f"  {line.strip()}")
        else:
            part = part if line else ""
            out.append(line)
    return "\n".join(line.rstrip() for line in out).strip()


def _errors() -> str:
    """A list of the error classes, each with its base in brackets."""
    names = [name for name in keyfold.__all__ if hasattr(errors, name)]
    found = [getattr(errors, name) for name in names]
    return "\n".join(
        f"- `{one.__name__}` ({one.__base__.__name__}): {_body(one).replace(chr(10), ' ')}"
        for one in found
    )
