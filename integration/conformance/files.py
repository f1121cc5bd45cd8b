"""Case files: which form a line has, and the case it holds."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from integration.conformance import doris, fluss, paimon
from integration.conformance.case import Case, Dialect, Raw

DIALECTS: tuple[Dialect, ...] = (doris, paimon, fluss)


@dataclass(frozen=True)
class Line:
    """One line of a file; `case` is the reason where it could not be read."""

    file: str
    id: str
    case: Case | str


def read(paths: Iterable[Path], pattern: str, layout: str) -> Iterator[Line]:
    """The cases of all files whose id matches the pattern (as of file names, or a part of it)."""
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    raw = json.loads(text)
                    name = str(raw.get("id", f"line {number}"))
                    if fnmatchcase(name, pattern):
                        yield Line(path.name, name, _case(raw, layout))


def _case(raw: Raw, layout: str) -> Case | str:
    try:
        dialect = next((d for d in DIALECTS if d.is_form(raw)), None)
        if dialect is None:
            return f"engine {raw['engine']!r} belongs to no form known here"
        return dialect.read(raw, layout)
    except (KeyError, TypeError, ValueError) as wrong:
        return f"the case is not of its form: {type(wrong).__name__}: {wrong}"
