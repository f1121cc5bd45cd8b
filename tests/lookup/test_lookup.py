"""Rows that are looked up against the rows of a full scan, by every engine and type of key."""

import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import TableError
from keyfold.files.footers import KEPT
from keyfold.lookup.key_places import LookupPlan
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.lookup.matches import look_up_prefix
from keyfold.lookup.row_group_cache import RowGroupCache
from keyfold.lookup.rows_of_keys import look_up
from keyfold.lookup.warm import Warm
from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from keyfold.wire.specs import WriteSpec
from keyfold.write.writer import write
from tests.compact.harness import compact
from tests.draws import draws
from tests.random_values import value
from tests.read import harness
from tests.read.altered import KEYS as ALTERED_KEYS
from tests.read.altered import STEPS, Altered
from tests.storage import tables

Row = dict[str, Any]
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {"rowkind__field": "kind"},
    "sequence": {"sequence__field": "s", "rowkind__field": "kind"},
    "first-row": {"merge_engine": "first-row"},
    "partial-update": {"merge_engine": "partial-update", "fields__s__sequence_group": "t"},
    "aggregation": {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"},
    "aggregation of bags": {
        "merge_engine": "aggregation",
        "fields__v__aggregate_function": "max",
        "fields__t__aggregate_function": "listagg",
    },
}  # fmt: skip
COLUMNS = {"v": "long", "s": "integer", "t": "string", "kind": "string"}
KEYS: dict[str, dict[str, str]] = {
    "long": {"k": "long"},
    "text": {"k": "string"},
    "several": {"a": "string", "b": "integer", "c": "date"},
    "binary and decimal": {"a": "binary", "b": "decimal(30,10)"},
    "short decimal and timestamps": {"a": "decimal(12,3)", "b": "timestamp_ntz", "c": "timestamp"},
    "floats": {"a": "double", "b": "boolean"},
}
SMALL = {"keyfold__row_group__rows": "1024", "write_only": "true", "target_file_size": "16 kb"}


def arrow(table: Table, names: Sequence[str], rows: Sequence[Row]) -> pa.RecordBatch:
    fields = [table.layout.column(name).arrow_field.with_nullable(True) for name in names]
    return pa.RecordBatch.from_pylist(list(rows), schema=pa.schema(fields))


def sent(table: Table, columns: Sequence[str], **more: Any) -> LookupPlan:
    plan = plan_lookup(replace(tables.reload(table), **more), columns)
    return LookupPlan.from_json(plan.to_json())


def text(row: Row) -> str:
    return repr(row)  # NaN equals itself, -0.0 is not 0.0


def check(table: Table, asked: Sequence[Row], columns: Sequence[str] | None = None) -> int:
    """What is looked up is what a scan has, in the order that was asked; how many there are."""
    layout = table.layout
    names = tuple(layout.arrow_schema.names if columns is None else columns)
    scanned = harness.rows(table, tuple(dict.fromkeys((*names, *layout.primary_key))))
    model = {text({n: row[n] for n in layout.primary_key}): row for row in scanned}
    keys = arrow(table, layout.primary_key, asked)
    plan = sent(table, names)
    found, rows = look_up(plan, keys)
    check_warm(plan, keys, found, rows)
    expected = [model.get(text(key)) for key in keys.to_pylist()]
    assert found.to_pylist() == [row is not None for row in expected]
    assert rows.schema.names == list(names)
    got = rows.to_pylist() if names else [{} for _ in expected]
    for mine, theirs in zip(got, expected, strict=True):
        wanted = {name: None if theirs is None else theirs[name] for name in names}
        assert text(mine) == text(wanted)
    return found.true_count


def check_warm(
    plan: LookupPlan, keys: pa.RecordBatch, found: pa.BooleanArray, rows: pa.RecordBatch
) -> None:
    """A process that keeps row groups answers alike, whether it has room for them or not."""
    for most in (1 << 30, 1 << 14):
        warm = Warm(plan, RowGroupCache(most))
        for _ in range(2):
            again = warm.look_up(keys)
            assert again[0].equals(found)
            assert text(again[1].to_pylist()) == text(rows.to_pylist())
        for at in range(min(keys.num_rows, 3)):
            one = warm.look_up_one(keys.slice(at, 1))
            wanted = rows.slice(at, 1).to_pylist()[0] if rows.num_columns else {}
            assert text(one) == text(wanted if found[at].as_py() else None)


def made(folder: Path, key: dict[str, str], by: str = "", **options: str) -> Table:
    columns = [tables.column(name, kind, False) for name, kind in key.items()]
    columns += [tables.column(name, kind) for name, kind in COLUMNS.items()]
    return tables.table(folder, tables.new_table(*columns, key=",".join(key), by=by, **options))


def job(table: Table, rows: Sequence[Row], **more: Any) -> None:
    """One committed job; `more` are fields of its spec."""
    names = tuple(table.layout.arrow_schema.names)
    spec = WriteSpec(table.layout, names, False, next(harness.SEQUENCES), str(uuid.uuid4()), **more)
    commit.append(tables.reload(table), spec, write(spec, harness.batches(table.layout, rows)))


def drawn(random: Random, table: Table, keys: Sequence[Row], kinds: Sequence[str]) -> list[Row]:
    """Rows of distinct keys."""
    return [
        key
        | {
            "v": random.choice((None, random.randrange(100))),
            "s": random.randrange(9),
            "t": random.choice((None, "x", "é" * 20)),
            "kind": random.choice(kinds),
        }
        for key in keys
    ]


@pytest.mark.parametrize("engine", list(ENGINES))
@draws(4)
@given(random=st.randoms(use_true_random=False))
def test_every_engine(engine: str, random: Random) -> None:
    """Jobs of all kinds: deletes, named columns, overwrites; before and after a compaction."""
    options = ENGINES[engine]
    with tempfile.TemporaryDirectory() as folder:
        table = made(Path(folder), {"k": "long"}, write_only="true", **options)
        every = [{"k": k} for k in range(40)]
        kinds = ("+I", "+U", "-D") if "rowkind__field" in options else ("+I",)
        takes_names = options.get("merge_engine") in ("partial-update", "aggregation")
        for _ in range(random.randrange(1, 6)):
            keys = random.sample(every, random.randrange(1, 40))
            more: dict[str, Any] = {}
            if takes_names and random.random() < 0.6:
                more["named"] = ("k", *random.sample(["v", "t"], random.randrange(1, 3)))
                more["merge_mode"] = random.choice(("default", "overwrite"))
            job(table, drawn(random, table, keys, kinds), **more)
            if random.random() < 0.2:
                compact(table, random.choice(("full", "minor")))
        asked = [random.choice([*every, {"k": 1000}]) for _ in range(random.randrange(60))]
        check(table, asked)
        check(table, asked, random.sample(["v", "s", "t"], random.randrange(3)))


@pytest.mark.parametrize("name", list(KEYS))
def test_every_type_of_key(tmp_path: Path, seed: int, name: str) -> None:
    key, random = KEYS[name], Random(seed)
    table = made(tmp_path, key, rowkind__field="kind", **SMALL)
    fields = [table.layout.column(column).arrow_field for column in key]
    held: dict[str, Row] = {}
    while len(held) < (400 if name != "floats" else 12):
        row = {field.name: value(field.type, random) for field in fields}
        if name == "long" or random.random() < 0.5:
            numbers = [f.name for f in fields if pa.types.is_integer(f.type)]
            row |= {number: random.randrange(1 << 20) for number in numbers}
        row |= {f.name: f"{random.random()}" for f in fields if pa.types.is_string(f.type)}
        held[text(row)] = row
    every = list(held.values())
    for _ in range(3):
        keys = random.sample(every, len(every) // 2)
        job(table, drawn(random, table, keys, ("+I", "+I", "-D")))
    assert check(table, random.sample(every, len(every) // 3))
    assert check(table, every[:5] * 2)
    assert check(table, []) == 0


@pytest.mark.parametrize("nullable", [False, True])
def test_partitions_and_null(tmp_path: Path, seed: int, nullable: bool) -> None:
    random = Random(seed)
    columns = [tables.column(n, t) for n, t in (("p", "string"), ("a", "integer"), ("b", "string"))]
    more = {"primary_key__nullable": "true"} if nullable else {}
    new = tables.new_table(*columns, tables.column("v"), key="p,a,b", by="p", bucket="3", **more)
    table = tables.table(tmp_path, new)
    none = [None] if nullable else []
    every = [
        {"p": p, "a": a, "b": b}
        for p in ["x", "y", *none]
        for a in [*range(20), *none]
        for b in ["", "g", *none]
    ]
    for number in range(3):
        rows = [key | {"v": number} for key in random.sample(every, len(every) // 2)]
        harness.upsert(table, rows)
    asked = [*every, {"p": "z", "a": 1, "b": "g"}, {"p": "x", "a": 99, "b": "g"}]
    asked += [{"p": "x", "a": None, "b": "g"}, {"p": None, "a": 1, "b": "g"}]
    random.shuffle(asked)
    found = check(table, asked)
    assert 0 < found < len(asked)
    backwards = arrow(table, ["b", "v", "a", "p"], [key | {"v": None} for key in asked])
    assert look_up(sent(table, ["v"]), backwards)[0].true_count == found


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
@draws(3)
@given(random=st.randoms(use_true_random=False))
def test_older_schemas(engine: str, random: Random) -> None:
    steps = [step for step, times in STEPS.items() for _ in range(times)]
    with tempfile.TemporaryDirectory() as folder:
        altered = Altered.made(Path(folder), engine, random)
        for _ in range(12):
            random.choice(steps)(altered)
        altered.commit_jobs()
        check(altered.table, [{"k": k} for k in range(ALTERED_KEYS + 2)])


def test_an_older_snapshot_and_metadata_columns(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table())
    keys = arrow(table, ["k"], [{"k": 2}, {"k": 1}])
    assert look_up(sent(table, ["v"]), keys)[0].to_pylist() == [False, False]
    for number in (1, 2):
        harness.upsert(table, [{"k": k, "v": number} for k in range(1, number + 1)])
    found, rows = look_up(sent(table, ["v"], snapshot_id=1), keys)
    assert (found.to_pylist(), rows.to_pylist()) == ([False, True], [{"v": None}, {"v": 1}])
    _, rows = look_up(sent(table, ["_bucket", "v"]), keys)
    (scanned,) = [row for row in harness.rows(table, ["k", "v", "_bucket"]) if row["k"] == 2]
    assert rows.to_pylist()[0] == {"_bucket": scanned["_bucket"], "v": 2}


def test_only_what_may_hold_the_keys_is_opened(tmp_path: Path) -> None:
    """Other files are gone, and other row groups are not decoded: the rows come all the same."""
    options = {"keyfold__row_group__rows": "1024", "bucket": "1", "write_only": "true"}
    table = tables.table(tmp_path, tables.new_table(**options))
    for start in (0, 10_000, 20_000):
        harness.upsert(table, [{"k": k, "v": -k} for k in range(start, start + 4_000)])
    harness.upsert(table, [{"k": k, "v": 5} for k in range(12_000, 12_100)])
    plan = sent(table, ["v"])
    KEPT.clear()
    for file in plan.places[0].split.files:
        if file.rows == 4_000 and not 10_000 <= first(table, file.name) < 20_000:
            (tmp_path / "default.db" / "t" / "bucket-0" / file.name).unlink()
    keys = arrow(table, ["k"], [{"k": k} for k in (12_050, 13_999, 9_999, 12_050)])
    found, rows = look_up(plan, keys)
    assert found.to_pylist() == [True, True, False, True]
    assert rows.column("v").to_pylist() == [5, -13_999, None, 5]


def first(table: Table, name: str) -> int:
    (file,) = [one for one in tables.reload(table).live_files() if one.name == name]
    return int(file.min_key[0])


@draws(6)
@given(number=st.integers(1, 1 << 32))
def test_rows_of_a_prefix(number: int) -> None:
    random = Random(number)  # hypothesis alone would draw few keys that are there
    columns = [tables.column(n, t, False) for n, t in (("p", "string"), ("a", "string"))]
    columns += [tables.column("b", "integer", False), tables.column("v")]
    options = {"bucket_key": "a", "keyfold__row_group__rows": "1024"}
    new = tables.new_table(*columns, key="p,a,b", by="p", bucket="3", **options)
    with tempfile.TemporaryDirectory() as folder:
        table = tables.table(Path(folder), new)
        for value in range(random.randrange(1, 5)):
            keys = {
                (random.choice("xy"), random.choice("abc"), random.randrange(5)) for _ in "four"
            }
            harness.upsert(table, [{"p": p, "a": a, "b": b, "v": value} for p, a, b in keys])
        asked = [{"p": random.choice("xyyz"), "a": random.choice("abcd")} for _ in range(9)]
        plan = sent(table, ["v", "b", "a", "p"])
        places, rows = look_up_prefix(plan, ["a", "p"], arrow(table, ["a", "p"], asked))
        scanned = sorted(harness.rows(table), key=lambda row: row["b"])
        assert list(zip(places.to_pylist(), rows.to_pylist(), strict=True)) == [
            (place, {name: row[name] for name in ("v", "b", "a", "p")})
            for place, key in enumerate(asked)
            for row in scanned
            if (row["p"], row["a"]) == (key["p"], key["a"])
        ]


def test_refusals(tmp_path: Path) -> None:
    table = tables.table(tmp_path, tables.new_table())
    with pytest.raises(TableError, match="expected column k of type int64, found int32"):
        look_up(sent(table, ["v"]), pa.RecordBatch.from_pydict({"k": pa.array([1], pa.int32())}))
    with pytest.raises(TableError, match="found no such column"):
        look_up(sent(table, ["v"]), pa.RecordBatch.from_pydict({"v": pa.array([1])}))
    with pytest.raises(TableError, match="look the rows up by key"):
        look_up_prefix(sent(table, ["v"]), ["k"], arrow(table, ["k"], [{"k": 1}]))
