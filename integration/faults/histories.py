"""Random tables of every engine, and the rows of their jobs, for what three sides do with them.

A history is told by its seed. Values that docs/interop.md names as read differently elsewhere are
left out: NaN and -0.0 in keys, sequences and extremes, blank texts of listagg.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from integration.paimon.sides import Change, Shape
from keyfold.kernels.ops import KIND_NAMES
from keyfold.testing.tables import Record
from keyfold.types import arrow as arrow_types
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import TableLayout
from tests.definitions import accepted, fold, visible
from tests.random_values import value

TIMES = ("TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE")
KEYS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING"),
    *("CHAR(3)", "VARCHAR(12)", "BYTES", "DATE", "DECIMAL(5, 2)", "DECIMAL(18, 0)"),
    *("DECIMAL(38, 3)", *TIMES),
)
# those that Spark's SQL does not spell, which others declare
FOREIGN = ("BINARY(4)", "VARBINARY(20)", "TIMESTAMP(0)", "TIMESTAMP(3)")
FOREIGN += ("TIMESTAMP(3) WITH LOCAL TIME ZONE",)
ROW = {
    "type": "ROW",
    "fields": [{"id": 0, "name": "x", "type": "INT"}, {"id": 1, "name": "y", "type": "STRING"}],
}
NESTED = (
    {"type": "ARRAY", "element": "STRING"},
    {"type": "MAP", "key": "STRING", "value": "DECIMAL(5, 2)"},
    ROW,
    {"type": "ARRAY", "element": {"type": "MAP", "key": "INT", "value": ROW}},
)
PARTITIONS = ("STRING", "INT", "DATE", "BOOLEAN", "DECIMAL(5, 2)", "TIMESTAMP(6)", "BIGINT")
SEQUENCES = ("INT", "STRING", "DECIMAL(18, 0)", "DATE", "TIMESTAMP(6)", "BIGINT", "DOUBLE")
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(18, 0)")
ORDERED = tuple(kind for kind in KEYS if kind not in ("BOOLEAN", "BYTES", "CHAR(3)"))
FUNCTIONS: Mapping[str, Sequence[Any]] = {
    "sum": NUMBERS,
    "product": NUMBERS,
    "max": ORDERED,
    "min": ORDERED,
    "last_value": (*KEYS, *NESTED),
    "last_non_null_value": (*KEYS, *NESTED),
    "first_value": (*KEYS, *NESTED),
    "first_non_null_value": (*KEYS, *NESTED),
    "bool_and": ("BOOLEAN",),
    "bool_or": ("BOOLEAN",),
    "listagg": ("STRING",),
    "collect": ({"type": "ARRAY", "element": "INT"},),
    "merge_map": ({"type": "MAP", "key": "STRING", "value": "INT"},),
}
WIDER = {"TINYINT": "SMALLINT", "SMALLINT": "INT", "INT": "BIGINT", "FLOAT": "DOUBLE"}
WIDER |= {"DECIMAL(5, 2)": "DECIMAL(18, 2)", "VARCHAR(12)": "STRING"}
FIRST_ROW, GROUPS = "first-row", "sequence-groups"
ENGINES = ("deduplicate", "deletes", FIRST_ROW, "partial-update", GROUPS, "aggregation")
SWITCHES = ("data-file.thin-mode", "primary-key.nullable")
FOUND_ALIKE = frozenset(("collect",))  # whose elements have no fixed order


@dataclass
class History:
    """A table, its columns as they are now, and all rows that came, in order."""

    random: Random
    shape: Shape
    engine: str
    functions: Mapping[str, str]
    kinds: tuple[int, ...]
    columns: dict[str, Any] = field(default_factory=dict)
    rows: list[Record] = field(default_factory=list)
    pool: list[dict[str, Any]] = field(default_factory=list)
    changes: int = 0
    is_merged: bool = False  # whether any rows of a key were, when written or compacted

    @property
    def free(self) -> list[str]:
        """Columns of lists in no fixed order."""
        return [name for name, function in self.functions.items() if function in FOUND_ALIKE]

    @property
    def is_foreign(self) -> bool:
        """Whether a column has a type that Spark's SQL does not spell."""
        return any(kind in FOREIGN for kind in self.columns.values())

    @property
    def may_be_told(self) -> bool:
        """Whether rows alone say what is read, and not when they were merged (docs/engines.md)."""
        is_late = "sequence.field" in self.shape.options or self.engine == GROUPS
        return self.engine == "deduplicate" or not (is_late and self.is_merged)

    def job(self, count: int, kinds: Sequence[int], *, distinct: bool = False) -> list[Record]:
        """Rows of one job, with keys that others have too, each once if they shall be distinct."""
        if distinct or self.random.random() < 0.5:
            keys = self.random.sample(self.pool, min(count, len(self.pool)))
        else:
            keys = self.random.choices(self.pool, k=count)
            self.is_merged |= count > 1
        return [self._row(key, kinds) for key in keys]

    def _row(self, key: Mapping[str, Any], kinds: Sequence[int]) -> Record:
        kind = self.random.choice(kinds)
        values = {name: self._value(name, data_type) for name, data_type in self.columns.items()}
        return kind, values | key | ({"op": KIND_NAMES[kind]} if "op" in values else {})

    def _value(self, name: str, data_type: Any) -> Any:
        function = self.functions.get(name, "")
        if function in ("sum", "product"):  # none that overflow or round
            made = self.random.choice((None, -1, 0, 1))
            return pa.scalar(made, arrow_type(data_type)).as_py()
        made = drawn(data_type, self.random, 0.25)
        if function == "listagg" and made is not None and not made.strip():
            return "c"
        return plain(made) if function in ("max", "min") or name in ("s", "g", "h") else made

    def change(self) -> Change | None:
        """An ALTER of a column that no key and no option names; None if there is no such column."""
        named = set(",".join([*self.shape.options.values(), "op", *self.shape.key]).split(","))
        named |= {name.split(".")[1] for name in self.shape.options if name.startswith("fields.")}
        free = [name for name in self.columns if name not in named]
        do = self.random.choice(("add", "add", "drop", "rename", "type", "move"))
        self.changes += 1
        after = self.random.choice(list(self.columns))
        if do == "add":
            return Change("add", f"n{self.changes}", self.random.choice((*KEYS, *NESTED)), after)
        if do == "type":
            free = [name for name in free if str(self.columns[name]) in WIDER]
        free = [name for name in free if do != "move" or name != after]
        if not free:
            return None
        name = self.random.choice(free)
        to = {"type": WIDER.get(str(self.columns[name])), "rename": f"r{self.changes}"}.get(do)
        return Change(do, name, to, after if do == "move" else None)

    def altered(self, change: Change, order: Sequence[str]) -> None:
        """Take over what an ALTER did; `order` are the columns as they are now."""
        old, columns = change.column, dict(self.columns)
        if change.do in ("add", "type"):
            columns[old] = change.to
        if change.do in ("drop", "rename"):
            kind = columns.pop(old)
            columns |= {change.to: kind} if change.do == "rename" else {}
        for _, values in self.rows:
            if change.do == "add":
                values[old] = None
            elif change.do in ("drop", "rename"):
                cell = values.pop(old)
                values |= {change.to: cell} if change.do == "rename" else {}
        self.columns = {name: columns[name] for name in order}

    def folded(self, layout: TableLayout) -> pa.Table:
        """What a reader must see, by plain definitions."""
        parts: dict[tuple[Any, ...], list[Record]] = {}
        for record in self.rows:
            place = tuple(record[1][name] for name in self.shape.partitions)
            parts.setdefault(place, []).append(record)
        found = [
            values
            for part in parts.values()
            for _, values in visible(fold(layout, accepted(layout, part)))
        ]
        return pa.Table.from_pylist(found, layout.arrow_schema)


def arrow_type(data_type: Any) -> pa.DataType:
    """The Arrow type of a type in Paimon's JSON."""
    return arrow_types.to_arrow(paimon_types.from_paimon(data_type))


def drawn(data_type: Any, random: Random, nulls: float) -> Any:
    """A random value; no more of a text, or digits of a time, than its type holds."""
    made = value(arrow_type(data_type), random, nulls)
    if made is None or not isinstance(data_type, str):
        return made
    size = re.match(r"(CHAR|BINARY|TIMESTAMP)\((\d)\)", data_type)
    if size is None:
        return made
    digits = int(size[2])
    if size[1] == "TIMESTAMP":
        return made.replace(microsecond=made.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits))
    return made[:digits]


def plain(made: Any) -> Any:
    """The value, but 0.5 for NaN and zeros, of which others merge two into one."""
    if isinstance(made, float | np.floating) and (made != made or made == 0):
        return type(made)(0.5)
    return made


def history(seed: str, engine: str, padded: str = "CHAR(3)") -> History:
    """The table of a seed, with no rows yet; columns of CHAR are of the type `padded`."""
    random = Random(f"{seed} {engine}")
    partitions = tuple(f"p{n}" for n in range(random.choice((0, 0, 1, 2))))
    key = tuple(f"k{n}" for n in range(random.choice((1, 1, 2, 3))))
    columns: dict[str, Any] = {name: random.choice(KEYS) for name in key}
    columns |= {name: random.choice(PARTITIONS) for name in partitions}
    kinds = (*KEYS, *NESTED, *FOREIGN)
    columns |= {f"v{n}": random.choice(kinds) for n in range(random.randrange(1, 7))}
    options = {"bucket": random.choice(("1", "2", "3")), "write-only": "true"}
    options |= {"target-file-size": "1 kb"} if random.random() < 0.3 else {}
    options |= {name: "true" for name in SWITCHES if random.random() < 0.2}
    functions = _engine(engine, random, columns, options)
    names = random.sample(list(columns), len(columns))
    name = f"{engine}_{seed}".replace("-", "_")
    kept = {name: columns[name] for name in names}
    columns = {name: padded if kind == "CHAR(3)" else kind for name, kind in kept.items()}
    shape = Shape(name, columns, (*partitions, *key), partitions, options)
    row_kinds = (0, 0, 2, 1, 3) if engine == "deletes" else (0,)
    made = History(random, shape, engine, functions, row_kinds, columns)
    keys = [_key(random, shape) for _ in range(12)]
    made.pool = list({repr(key): key for key in keys}.values())
    return made


def _key(random: Random, shape: Shape) -> dict[str, Any]:
    found = {}
    for name in shape.key:
        may_be_null = shape.has_nullable_key and name not in shape.partitions
        # pypaimon hashes a NULL of these otherwise than Java does: it goes to another bucket
        may_be_null &= shape.columns[name] not in ("DECIMAL(38, 3)", *TIMES)
        found[name] = plain(drawn(shape.columns[name], random, 0.15 if may_be_null else 0.0))
    return found


def _engine(
    engine: str, random: Random, columns: dict[str, Any], options: dict[str, str]
) -> dict[str, str]:
    """Columns and options of the engine; functions by column."""
    if engine == "deletes":
        columns["op"] = "STRING"
        options["rowkind.field"] = "op"
    elif engine != "deduplicate":
        options["merge-engine"] = "partial-update" if engine == GROUPS else engine
    if engine == GROUPS:
        return _groups(random, columns, options)
    if engine == "aggregation":
        return _functions(random, columns, options)
    if engine != FIRST_ROW and random.random() < 0.35:
        columns["s"] = random.choice(SEQUENCES)
        options["sequence.field"] = "s"
        options["sequence.field.sort-order"] = random.choice(("ascending", "descending"))
    return {}


def _functions(random: Random, columns: dict[str, Any], options: dict[str, str]) -> dict[str, str]:
    found = {}
    for number, function in enumerate(random.sample(list(FUNCTIONS), random.randrange(2, 7))):
        name = f"a{number}"
        columns[name] = random.choice(FUNCTIONS[function])
        options[f"fields.{name}.aggregate-function"] = function
        found[name] = function
    return found


def _groups(random: Random, columns: dict[str, Any], options: dict[str, str]) -> dict[str, str]:
    """One or two groups, some of their columns with functions."""
    functions = {}
    for group in random.choice((("g",), ("h",), ("g", "h"))):
        columns[group] = random.choice(SEQUENCES)
        members = []
        for number in range(random.randrange(1, 4)):
            name = f"{group}{number}"
            columns[name] = random.choice((*KEYS, *NESTED))
            if random.random() < 0.4:
                functions[name] = random.choice(("sum", "max", "last_non_null_value", "listagg"))
                columns[name] = random.choice(FUNCTIONS[functions[name]])
                options[f"fields.{name}.aggregate-function"] = functions[name]
            members.append(name)
        options[f"fields.{group}.sequence-group"] = ",".join(members)
    return functions
