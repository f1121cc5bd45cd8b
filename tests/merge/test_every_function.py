"""A read shows the fold of all records by the definition, whatever was compacted before, for every
function and every engine.

The functions are those of the registry, each a column of one table, so that a new one is tried with
the others. Five runs are compacted in every way, as in `test_any_compaction`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate
from keyfold.aggregates.states.opaque import BYTES
from keyfold.kernels.ops import DELETE, RETRACTIONS
from keyfold.kernels.roaring import bitmaps
from keyfold.options.engines import engines
from keyfold.testing.tables import layout
from keyfold.types.arrow import to_arrow
from keyfold.types.paimon import from_paimon
from tests.aggregates import test_agg_state as of_states
from tests.aggregates.test_states import STATES
from tests.merge.test_any_compaction import (
    RUNS,
    Cuts,
    History,
    Run,
    compacted,
    random_history,
    ways,
)
from tests.merge.test_compacted_when import LINES, NESTED, TIMED
from tests.random_values import same

MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
Draw = Callable[[Random], Any]


def few(draw: Draw) -> Draw:
    """A list of some values."""
    return lambda random: [draw(random) for _ in range(random.randrange(4))]


def entries(draw: Draw) -> Draw:
    """The entries of a map, by few keys."""
    return lambda random: [(key, draw(random)) for key in sorted(random.sample("abc", 2))]


def timed(random: Random) -> dict[str, Any]:
    return {"n": random.randrange(9), "at": f"09:{random.randrange(10, 60)}"}


def nested(random: Random) -> dict[str, Any]:
    return {"id": random.randrange(4), "n": random.randrange(9)}


def number(random: Random) -> int:
    return random.choice((1, 1, 2, -1))


# The types of columns, the first that a function takes, with values of each.
TYPES: tuple[tuple[Any, Draw], ...] = (
    ("BIGINT", number),
    ("BOOLEAN", lambda random: random.random() < 0.5),
    ("STRING", lambda random: random.choice(("a", "b", "ab", " "))),
    (TIMED, entries(timed)),
    (MAP, entries(number)),
    (NESTED, few(nested)),
    ({"type": "ARRAY", "element": "INT"}, few(number)),
)
SUM = of_states.parse("sum(bigint)")
MADE: dict[str, Draw] = {
    "agg_state": lambda random: of_states.states(SUM, of_states.content(SUM, random, 1))[0],
    **{name: make for name, make, _ in STATES},
}
MEANINGS: dict[str, Callable[[bytes], Any]] = {name: mean for name, _, mean in STATES}
MEANINGS |= {"rbm32": bitmaps.read32, "rbm64": bitmaps.read64}
SETTINGS: dict[str, list[dict[str, str]]] = {
    "agg_state": [{"agg-state": SUM.text}],
    "collect": [{}, {"distinct": "true"}],
    "listagg": [{}, {"distinct": "true"}],
    "nested_partial_update": [{"nested-key": "id"}],
    "nested_update": [
        {},
        {"nested-key": "id"},
        {"nested-key": "id", "nested-sequence-field": "n"},
        {"nested-key": "id", "count-limit": "3"},
    ],
}


@dataclass(frozen=True)
class Column:
    """A column that a function folds."""

    name: str
    aggregate: Aggregate
    type: Any
    draw: Draw
    options: Mapping[str, str]

    def value(self, random: Random) -> Any:
        """A value as it is written."""
        found = None if random.random() < 0.25 else self.draw(random)
        if self.aggregate.normalize is None:
            return found
        array = pa.array([found], to_arrow(from_paimon(self.type)))
        return self.aggregate.normalize(array).to_pylist()[0]

    def is_same(self, found: Any, expected: Any) -> bool:
        """Whether two values mean the same."""
        means = MEANINGS.get(self.aggregate.name)
        if means is None or found is None or expected is None:
            return same(found, expected)
        return bool(means(expected) == means(found))


def columns() -> dict[str, Column]:
    found = {}
    for aggregate in dict.fromkeys(aggregates().values()):
        kind, draw = (
            ("BYTES", MADE[aggregate.name]) if aggregate.accepts is BYTES else of(aggregate)
        )
        for settings in SETTINGS.get(aggregate.name, [{}]):
            name = "_".join((aggregate.name, *sorted(settings.keys() - {"agg-state"})))
            options = {"aggregate-function": aggregate.name, **settings}
            found[name] = Column(name, aggregate, kind, draw, options)
    return found


def of(aggregate: Aggregate) -> tuple[Any, Draw]:
    """The first type that it takes."""

    def takes(text: Any) -> bool:
        kind = from_paimon(text)
        refuses = aggregate.refuses or (lambda kind: None)
        return aggregate.accepts.test(to_arrow(kind)) and refuses(kind) is None

    return next((kind, draw) for kind, draw in TYPES if takes(kind))


COLUMNS = columns()
AGGREGATION = {"merge-engine": "aggregation"}
BY_SEQUENCE = AGGREGATION | {"sequence.field": "g"}
GROUP = {"merge-engine": "partial-update"}
IS: dict[str, Callable[[Aggregate], bool]] = {
    "taking back": lambda one: one.is_retractable and one.retracts_alone,
    "taking back in a group": lambda one: one.retracts_alone and one.reversal == "append",
    "waiting": lambda one: one.is_retractable and not one.retracts_alone,
    "waiting in a group": lambda one: one.is_retractable,
}


@dataclass(frozen=True)
class Case:
    """A table with a column for each function that `takes` chooses."""

    options: Mapping[str, str]
    takes: Callable[[Aggregate], bool] = lambda aggregate: True
    retracts: tuple[int, ...] = ()
    ignores: bool = False
    is_late: bool = False
    keys: int = 24
    exceptions: Mapping[str, str] = field(default_factory=dict)  # lines of the document, by column

    def history(self, name: str) -> History:
        chosen = [one for one in COLUMNS.values() if self.takes(one.aggregate)]
        options = dict(self.options)
        if options["merge-engine"] == "partial-update":
            options["fields.g.sequence-group"] = ",".join(one.name for one in chosen)
        for one in chosen:
            options |= {f"fields.{one.name}.{name}": text for name, text in one.options.items()}
            if self.ignores:
                options[f"fields.{one.name}.ignore-retract"] = "true"
        found = layout({"k": "INT", "g": "INT", **{c.name: c.type for c in chosen}}, ["k"], options)

        # A random of its own for each column: a new function changes no history of others.
        own = {one.name: Random(f"{name} {one.name}") for one in chosen}

        def row(random: Random, job: int) -> dict[str, Any]:
            sequence = random.randrange(RUNS) if self.is_late else job
            return {"g": sequence, **{one.name: one.value(own[one.name]) for one in chosen}}

        return random_history(Random(name), found, keys=self.keys, retracts=self.retracts, row=row)


FIRST = "A late record under `sequence.field`, in a column with `first_value`"
LAST = "A late record under `sequence.field`, in a column with `last_non_null_value`"
IN_GROUP = "A late record of a sequence group"
LIMITED = {"nested_update_count-limit_nested-key": "Nested rows under `nested_update`"}
BY_ORDER = (
    "first_value",
    "first_non_null_value",
    "listagg",
    "listagg_distinct",
    "merge_map",
    "merge_map_with_keytime",
    "nested_partial_update_nested-key",
    "nested_update",
    "nested_update_count-limit_nested-key",
    "nested_update_nested-key",
    "nested_update_nested-key_nested-sequence-field",
)
LATE_BY_SEQUENCE = dict.fromkeys((*BY_ORDER, "collect", "collect_distinct"), FIRST)
LATE_BY_SEQUENCE |= {"last_non_null_value": LAST}
LATE_IN_GROUP = dict.fromkeys((*BY_ORDER, "last_non_null_value"), IN_GROUP)
REMOVES = {"aggregation.remove-record-on-delete": "true"}
REMOVES_BY_GROUP = {"partial-update.remove-record-on-sequence-group": "g"}
ALONE, WAITING = IS["taking back"], IS["waiting"]
ALONE_IN_GROUP, WAITING_IN_GROUP = IS["taking back in a group"], IS["waiting in a group"]
CASES = {
    "adding": Case(AGGREGATION, exceptions=LIMITED),
    "adding, by sequence": Case(BY_SEQUENCE),
    "adding, late by sequence": Case(BY_SEQUENCE, is_late=True, exceptions=LATE_BY_SEQUENCE),
    "adding, in a group": Case(GROUP, exceptions=LIMITED),
    "adding, late in a group": Case(GROUP, is_late=True, exceptions=LATE_IN_GROUP),
    "ignoring": Case(AGGREGATION, retracts=RETRACTIONS, ignores=True, exceptions=LIMITED),
    "ignoring, in a group": Case(GROUP, retracts=RETRACTIONS, ignores=True),
    "taking back": Case(AGGREGATION, ALONE, RETRACTIONS, keys=80),
    "taking back, by sequence": Case(BY_SEQUENCE, ALONE, RETRACTIONS, keys=80),
    "taking back, late in a group": Case(GROUP, ALONE_IN_GROUP, RETRACTIONS, is_late=True, keys=80),
    "waiting": Case(AGGREGATION, WAITING, RETRACTIONS, keys=80),
    "waiting, in a group": Case(GROUP, WAITING_IN_GROUP, RETRACTIONS),
    "removing": Case(AGGREGATION | REMOVES, retracts=(DELETE,), keys=60),
    "removing, by sequence": Case(BY_SEQUENCE | REMOVES, retracts=(DELETE,), keys=60),
    "removing, in a group": Case(GROUP | REMOVES_BY_GROUP, retracts=(DELETE,), keys=60),
}
ROWS = {"k": "INT", "g": "INT", "v": "BIGINT"}
ENGINES = {
    "deduplicate": ({"merge-engine": "deduplicate"}, RETRACTIONS),
    "deduplicate, by sequence": ({"merge-engine": "deduplicate", "sequence.field": "g"}, (DELETE,)),
    "first-row": ({"merge-engine": "first-row"}, ()),
    "versioned": (
        {"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "g"},
        (),
    ),
    "partial-update": ({"merge-engine": "partial-update"}, ()),
    "aggregation": ({"merge-engine": "aggregation"}, RETRACTIONS),
}


def differing(history: History, is_same: Callable[[str, Any, Any], bool]) -> dict[str, Cuts]:
    """The columns that a read shows otherwise than the definition after some compaction, or before
    all of them.
    """
    known: dict[Cuts, Run | None] = {}
    found: dict[str, Cuts] = {}
    tried, expected = 0, history.expected
    for way in ways(0, RUNS):
        runs = [compacted(history, part, known) for part in way[2]]
        there = [run for run in runs if run is not None]
        if len(there) < len(runs):
            continue
        tried += 1
        rows = history.read(there)
        assert [row["k"] for _, row in rows] == [row["k"] for _, row in expected], way
        for name in history.columns:
            pairs = zip(rows, expected, strict=True)
            if not all(is_same(name, mine[name], theirs[name]) for (_, mine), (_, theirs) in pairs):
                found.setdefault(name, way)
    assert tried
    return found


@pytest.mark.parametrize("name", CASES)
def test_no_compaction_changes_what_a_function_gives(name: str) -> None:
    def is_same(column: str, mine: Any, theirs: Any) -> bool:
        return COLUMNS[column].is_same(mine, theirs) if column in COLUMNS else same(mine, theirs)

    case = CASES[name]
    found = differing(case.history(name), is_same)
    assert found.keys() == case.exceptions.keys(), found
    assert {*case.exceptions.values()} <= LINES.keys()


@pytest.mark.parametrize("name", ENGINES)
def test_no_compaction_changes_what_an_engine_gives(name: str) -> None:
    options, retracts = ENGINES[name]

    def row(random: Random, job: int) -> dict[str, Any]:
        return {"g": random.randrange(RUNS), "v": random.choice((None, 1, 2))}

    random = Random(name)
    history = random_history(random, layout(ROWS, ["k"], options), retracts=retracts, row=row)
    assert differing(history, lambda _, mine, theirs: same(mine, theirs)) == {}


def test_every_function_and_engine_is_tried() -> None:
    assert {column.aggregate for column in COLUMNS.values()} == {*aggregates().values()}
    named = {options.get("merge-engine") for options, _ in ENGINES.values()}
    assert {*engines()} <= {name for name in named if name}
