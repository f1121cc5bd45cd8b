"""Random tables of every engine, random records and cuts, for the tests of engines."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

import pyarrow as pa

from keyfold.merge.deferred import Deferred
from keyfold.merge.plan import MergePlan
from keyfold.testing.tables import Record, layout
from keyfold.wire.layout import TableLayout
from tests.random_values import ATOMIC, same, value

KEYS = ({"k": "INT"}, {"k": "STRING"}, {"k": "BIGINT", "j": "STRING"}, {"k": "DECIMAL(20, 2)"})
FUNCTIONS = ("sum", "max", "min", "last_value", "last_non_null_value", "first_value")
GROUP_FUNCTIONS = (*FUNCTIONS, "first_non_null_value", "product")
SEQUENCES = ("INT", "DOUBLE", "STRING", "DECIMAL(38, 3)", "DATE", "TIMESTAMP(6)", "BOOLEAN")
FLAGS = {
    "deduplicate": ("ignore-delete", "ignore-update-before"),
    "first-row": ("ignore-delete", "ignore-update-before"),
    "aggregation": ("aggregation.remove-record-on-delete", "ignore-delete"),
    "partial-update": ("partial-update.remove-record-on-delete", "ignore-delete"),
    "versioned": (),
}
ENGINES = tuple(FLAGS)


def random_table(random: Random, engine: str) -> TableLayout:
    """A table of the engine: columns of random types, options as they come."""
    key = random.choice(KEYS)
    columns = dict(key) | {"s": random.choice(("INT", "DOUBLE", "STRING", "DECIMAL(38, 3)"))}
    columns |= {"t": "SMALLINT", "v": random.choice(("INT", "BIGINT", "FLOAT", "DECIMAL(18, 0)"))}
    columns |= {name: random.choice(list(ATOMIC)) for name in ("w", "x")}
    options = {"merge-engine": engine}
    if engine != "first-row" and random.random() < 0.4:
        options["sequence.field"] = random.choice(("s", "s,t"))
        options["sequence.field.sort-order"] = random.choice(("ascending", "descending"))
    if random.random() < 0.3:
        options["primary-key.nullable"] = "true"
    if FLAGS[engine] and random.random() < 0.3:
        options[random.choice(FLAGS[engine])] = "true"
    if engine == "aggregation":
        options |= _functions(random, ("v", "w"))
    if engine == "versioned":
        columns["s"] = random.choice(("INT", "BIGINT", "TIMESTAMP(6)"))
        options = {"table.merge-engine": engine, "table.merge-engine.versioned.ver-column": "s"}
    if engine == "partial-update" and random.random() < 0.8:
        columns |= {name: random.choice(SEQUENCES) for name in ("g", "h", "i")}
        options |= _groups(random, options)
    return layout(columns, list(key), options)


def _functions(random: Random, names: Sequence[str]) -> dict[str, str]:
    options = {f"fields.{names[0]}.aggregate-function": random.choice(FUNCTIONS)}
    options[f"fields.{names[1]}.aggregate-function"] = random.choice(FUNCTIONS[1:])
    for name in names[: random.randrange(3)]:
        options[f"fields.{name}.ignore-retract"] = "true"
    return options


def _groups(random: Random, given: dict[str, str]) -> dict[str, str]:
    """Groups over g, h and i that protect v, w, x and t in turn, with functions or without."""
    first, second = random.choice(((("g",), ("h",)), (("g", "h"), ("i",)), (("g", "h", "i"), ())))
    names = random.sample(["v", "w", "x", "t"], 4)
    cut = random.randrange(1, 4)
    options = {f"fields.{','.join(first)}.sequence-group": ",".join(names[:cut])}
    if second:
        options[f"fields.{second[0]}.sequence-group"] = names[cut]
    for name in names[: cut + bool(second)]:
        if random.random() < 0.6:
            numeric = ("v", "t")
            functions = GROUP_FUNCTIONS if name in numeric else GROUP_FUNCTIONS[1:-1]
            options[f"fields.{name}.aggregate-function"] = random.choice(functions)
            options[f"fields.{name}.ignore-retract"] = random.choice(("true", "true", "false"))
    if random.random() < 0.3 and "ignore-delete" not in given:
        options["partial-update.remove-record-on-sequence-group"] = random.choice(first)
    given.pop("partial-update.remove-record-on-delete", None)
    return options


def random_records(
    random: Random, table: TableLayout, count: int, kinds: Sequence[int], null_rate: float = 0.3
) -> list[Record]:
    """Records of a dozen keys."""
    null_keys = random.choice((0.1, 0.6)) if any(table.nullable_key) else 0.0
    keys = [
        [value(f.type, random, null_keys) for f in table.arrow_schema if f.name in table.key]
        for _ in range(random.choice((1, 12)))
    ]
    found = []
    for _ in range(count):
        values = {f.name: value(f.type, random, null_rate) for f in table.arrow_schema}
        values |= dict(zip(table.key, random.choice(keys), strict=True))
        found.append((random.choice(kinds), values))
    return found


def cut(random: Random, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches cut anywhere, some empty."""
    for part in batches:
        start = 0
        while start <= part.num_rows:
            stop = start + random.choice((0, 1, 2, 5, 50))
            yield part.slice(start, stop - start)
            start = max(stop, start + 1) if start == stop == part.num_rows else stop
            if stop >= part.num_rows:
                break


def deferred(
    random: Random, merge: MergePlan, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch | Deferred]:
    """The same rows, some decoded as far as the plan's order needs."""
    for part in batches:
        rest = [name for name in merge.reads if name not in merge.decide]
        if random.random() < 0.3 or not rest:
            yield part
            continue
        at = random.randrange(part.num_rows + 1)
        decided = part.select([name for name in part.schema.names if name not in rest])
        whole = Deferred(decided, partial(part.select, rest), 10.0)
        yield whole.slice(0, at)
        yield whole.slice(at).filter(pa.array([True] * (part.num_rows - at), pa.bool_()))


def check_same(found: Sequence[Record], expected: Sequence[Record], names: Sequence[str]) -> None:
    """Kinds and values are the same, in the same order."""
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    for (_, mine), (_, theirs) in zip(found, expected, strict=True):
        assert all(same(mine[name], theirs[name]) for name in names), (mine, theirs)
