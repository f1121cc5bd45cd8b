"""The tables of functions, states and engines in docs/aggregates.md, docs/states.md and
docs/engines.md, made of their declarations.
"""

from collections.abc import Sequence

import pyarrow as pa

from integration.docs.aggregate_examples import shown
from keyfold.aggregates import aggregates
from keyfold.aggregates.binding import short_name
from keyfold.aggregates.declaration import Aggregate
from keyfold.aggregates.states.state_functions import functions as state_functions
from keyfold.options.engines import engines

# What the types column says where an aggregate takes all of these.
_FAMILIES: tuple[tuple[str, tuple[pa.DataType, ...]], ...] = (
    ("integers", (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    ("FLOAT, DOUBLE", (pa.float32(), pa.float64())),
    ("DECIMAL", (pa.decimal128(38, 3),)),
    ("BOOLEAN", (pa.bool_(),)),
    ("STRING", (pa.utf8(),)),
    ("BINARY", (pa.binary(),)),
    ("DATE, TIMESTAMP", (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))),
    ("ARRAY", (pa.list_(pa.int32()),)),
    ("MAP", (pa.map_(pa.utf8(), pa.int32()),)),
    ("STRUCT", (pa.struct([("x", pa.int32())]),)),
)
_FLAT = tuple(name for name, _ in _FAMILIES[:-3])
AGG_STATE = "agg_state"  # of columns alone: no query calls it
_TABLE = pa.list_(pa.struct([("x", pa.int32())]))


def functions() -> str:
    """The table of aggregate functions; aliases stand in brackets."""
    known = sorted(set(aggregates().values()), key=lambda one: one.name)
    return table(
        ("function", "the value is", "example", "types", "NULL", "-U and -D"),
        [
            (
                _names(one),
                _clause(one.summary),
                shown(one.name),
                types_of(one),
                one.nulls,
                _retraction(one),
            )
            for one in known
        ],
    )


def merge_engines() -> str:
    """The table of merge engines."""
    known = sorted(engines().values(), key=lambda one: one.name)
    return table(
        ("`merge-engine`", "what stays of a key", "NULL", "-U and -D"),
        [(f"`{one.name}`", one.summary, one.nulls, one.retraction) for one in known],
    )


def parameters() -> str:
    """The table of the options that single functions take."""
    takers: dict[str, list[str]] = {}
    options = {}
    known = sorted(set(aggregates().values()), key=lambda one: one.name)
    for one in known:
        for parameter in one.parameters:
            takers.setdefault(parameter.name, []).append(f"`{one.name}`")
            options[parameter.name] = parameter
    found = table(
        ("`fields.<column>.…`", "in a call", "of", "default", "meaning"),
        [
            (
                f"`{name}`",
                f"`{short_name(options[name])}`" if takers[name] != [f"`{AGG_STATE}`"] else "",
                ", ".join(takers[name]),
                _default(options[name].default),
                options[name].doc,
            )
            for name in sorted(takers)
        ],
    )
    calls = (
        f"`{one.name}(c, {', '.join(map(short_name, one.parameters))})`"
        for one in known
        if one.parameters and one.name != AGG_STATE
    )
    return f"{found}\n\nTheir order in a call: {', '.join(calls)}."


def _default(text: str | None) -> str:
    return f"`{text}`" if text else ""


def types_of(one: Aggregate) -> str:
    """The types a function takes, in words."""
    taken = [name for name, kinds in _FAMILIES if all(map(one.accepts.test, kinds))]
    if len(taken) == len(_FAMILIES):
        return "any"
    if tuple(taken) == _FLAT:
        return "all but ARRAY, MAP, STRUCT"
    if taken == ["integers", "FLOAT, DOUBLE", "DECIMAL"]:
        return "numbers"
    if not taken and one.accepts.test(_TABLE):
        return "ARRAY of STRUCT"
    return ", ".join(taken) or one.accepts.words


def _clause(summary: str) -> str:
    return summary[:1].lower() + summary[1:].removesuffix(".")


def _names(one: Aggregate) -> str:
    aliases = ", ".join(f"`{alias}`" for alias in one.aliases)
    return f"`{one.name}`" + (f" ({aliases})" if aliases else "")


def _retraction(one: Aggregate) -> str:
    return one.retraction or ("taken back" if one.is_retractable else "refused")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def states() -> str:
    """The table of functions whose states can be kept."""
    known = sorted(dict.fromkeys(state_functions().values()), key=lambda one: one.name)
    rows = []
    for one in known:
        names = ", ".join(f"`{name}`" for name in one.aliases)
        shown = f"`{one.name}`" + (f" ({names})" if names else "")
        constants = ", ".join(
            f"{name}" + (f", or {default!r}" if default else "") for name, default in one.constants
        )
        rows.append((shown, one.summary, constants))
    return table(("function", "the result is", "constant argument"), rows)
