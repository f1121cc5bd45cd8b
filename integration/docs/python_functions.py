"""python/keyfold/functions.py, made of the declarations of aggregates."""

from __future__ import annotations

import textwrap

from integration import TOP
from integration.docs.aggregate_tables import types_of
from keyfold.aggregates.binding import short_name
from keyfold.aggregates.declaration import Aggregate, Parameter
from keyfold.group_by.bound import functions
from keyfold.options.values import boolean

SOURCE = TOP / "python" / "keyfold" / "functions.py"
MARK = "# Below this line: made of the declarations by `python -m integration.docs.pages`.\n"
_WIDTH = 100


def rewritten() -> str:
    """The module, with its functions as they are declared now."""
    head = SOURCE.read_text(encoding="utf-8").partition(MARK)[0]
    known = functions()
    names = "".join(f'    "{name}",\n' for name in sorted(["call", *(one.name for one in known)]))
    parts = [f"__all__ = [\n{names}]\n", *map(_function, known)]
    return head + MARK + "\n" + "\n\n".join(parts)


def write() -> None:
    """Write it."""
    SOURCE.write_text(rewritten(), encoding="utf-8")


def _function(one: Aggregate) -> str:
    options = [f"{short_name(p)}: {kind_of(p)} | None = None" for p in one.parameters]
    arguments = ["column: Column | str", *(["*", *options] if options else [])]
    passed = [f'"{one.name}"', "column", *map(short_name, one.parameters)]
    head = _listed(f"def {one.name}(", arguments, ") -> Column:", "")
    return f"{head}\n{_doc(one)}{_listed('    return call(', passed, ')', ' ' * 4)}\n"


def _listed(begin: str, items: list[str], end: str, indent: str) -> str:
    """The items in one line, or else each in its own, as ruff formats them."""
    whole = ", ".join(items)
    if len(begin + whole + end) <= _WIDTH:
        return begin + whole + end
    if len(whole) + len(indent) + 4 <= _WIDTH and begin.startswith("def"):
        return f"{begin}\n{indent}    {whole}\n{indent}{end}"
    return f"{begin}\n" + "".join(f"{indent}    {item},\n" for item in items) + indent + end


def kind_of(parameter: Parameter) -> str:
    """The type of an option's values: bool, int or str."""
    if parameter.parse is boolean:
        return "bool"
    try:
        parameter.parse("letters")
    except ValueError as expected:
        return "int" if "number" in str(expected) else "str"
    return "str"


def _doc(one: Aggregate) -> str:
    """The docstring, its lines no longer than the code's."""
    said = f"{one.summary[0].upper()}{one.summary[1:]}. NULL: {one.nulls}."
    first = textwrap.fill(f'"""{said}', _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4)
    lines = [("column", f"{types_of(one)}.")]
    for parameter in one.parameters:
        default = "" if parameter.default is None else f" If it is None: {parameter.default!r}."
        lines.append((short_name(parameter), f"{parameter.doc}{default}"))
    listed = "".join(_line(f"{name}: {words}") for name, words in lines)
    return f'{first}\n\n    Args:\n{listed}    """\n'


def _line(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12) + "\n"
