"""Random writes, deletes, compactions and reads of tables without Spark, against dictionaries."""

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import Catalog, ConflictError, NotSupportedError, StoreError, Table, TableError
from keyfold.storage.commits import commit
from keyfold.write import jobs

Rows = dict[tuple[int, str], dict[str, Any]]
COLUMNS = {"p": "INT", "k": "STRING", "v": "BIGINT", "w": "STRING"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=2)


def sum_of(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The engine `aggregation` with a sum and the last value that is not NULL."""
    v = [row["v"] for row in (old, new) if row.get("v") is not None]
    return old | {"v": sum(v) if v else None, "w": old["w"] if new.get("w") is None else new["w"]}


def last_of(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The engine `partial-update`."""
    return old | {name: value for name, value in new.items() if value is not None}


ENGINES: dict[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    "deduplicate": lambda _, new: new,
    "partial-update": last_of,
    "aggregation": sum_of,
    "first-row": lambda old, _: old,
}


def random_rows(random: Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "p": random.randrange(3),
            "k": f"key-{random.randrange(40)}",
            "v": random.choice((None, *range(10))),
            "w": random.choice((None, "x", "y", "")),
        }
        for _ in range(count)
    ]


def key_of(row: dict[str, Any]) -> tuple[int, str]:
    return row["p"], row["k"]


def stored(table: Table) -> Rows:
    found = table.scan().to_pylist()
    rows = {key_of(row): row for row in found}
    assert len(rows) == len(found)
    return rows


@pytest.mark.parametrize("engine", ENGINES)
def test_random_jobs(catalog: Catalog, engine: str, seed: int) -> None:
    random, model = Random(f"{seed} {engine}"), Rows()
    options = {"merge-engine": engine, "bucket": "2", "num-sorted-run.compaction-trigger": "3"}
    if engine == "aggregation":
        options |= {"fields.v.aggregate-function": "sum"}
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], options)
    for _ in range(7):
        rows = random_rows(random, random.randrange(60))
        names = ["p", "k", *random.choice((["v", "w"], ["w"], ["v"], ["w", "v"]))]
        rows = [{name: row[name] for name in names} for row in rows]
        table.upsert(random.choice((rows, pa.Table.from_pylist(rows), iter(rows))) if rows else [])
        for row in rows:
            whole = dict.fromkeys(COLUMNS) | row
            old = model.get(key_of(row))
            model[key_of(row)] = whole if old is None else ENGINES[engine](old, whole)
        assert stored(table) == model
        if random.random() < 0.3:
            gone = random.sample(sorted(model), min(5, len(model)))
            table.delete([{"p": p, "k": k} for p, k in gone])
            model = {key: row for key, row in model.items() if key not in gone}
        if random.random() < 0.2:
            table.compact(random.choice(("full", "minor")))
        if random.random() < 0.2:
            fresh = random_rows(random, 5)
            chosen = {row["p"] for row in fresh}
            table.overwrite(fresh, dynamic=True)
            model = {key: row for key, row in model.items() if key[0] not in chosen}
            for row in fresh:
                old = model.get(key_of(row))
                model[key_of(row)] = row if old is None else ENGINES[engine](old, row)
        assert stored(table) == model
    asked = random.sample(sorted(model), 5)
    for p, k in asked:
        assert table.get({"k": k, "p": p}) == model[p, k]
    assert table.get({"k": "no", "p": 1}) is None
    in_one = {key_of(row): row for row in table.scan(where="p = 1").to_pylist()}
    assert in_one == {key: row for key, row in model.items() if key[0] == 1}


def test_forms_of_rows_that_are_read(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "STRING"}, ["k"])
    scan = table.scan()
    assert scan.to_arrow() == scan.schema.empty_table()
    table.upsert([{"k": k, "v": f"{k}"} for k in range(1000)])
    assert scan.to_pylist() == [], "a scan reads the snapshot it was made at"
    scan = table.scan(["v", "k"], "k < 500")
    wanted = sorted((f"{k}", k) for k in range(500))

    def rows(found: pa.Table) -> list[tuple[str, int]]:
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    assert rows(scan.to_arrow()) == wanted
    assert rows(scan.to_reader().read_all()) == wanted
    assert rows(pa.table(scan)) == wanted
    assert rows(pa.Table.from_batches(scan.to_batches())) == wanted
    assert sorted(scan.to_pandas().itertuples(index=False, name=None)) == wanted
    assert pa.table(table).num_rows == 1000
    assert table.scan(limit=7).to_arrow().num_rows == 7
    assert table.scan(where="v LIKE '1%'", limit=7).to_arrow().num_rows == 7
    assert table.scan(limit=0).to_arrow().num_rows == 0
    assert table.scan([]).schema == pa.schema([])
    for wrong in (["no"], ["k", "k"]):
        with pytest.raises(TableError):
            table.scan(wrong)
    with pytest.raises(TableError, match="limit is -1"):
        table.scan(limit=-1)
    with pytest.raises(TableError, match="option nothing is unknown"):
        table.scan(options={"nothing": "1"})


def test_a_reader_that_stops_ends_the_threads(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"p": "INT", "k": "INT"}, ["p", "k"], ["p"])
    for p in range(6):
        table.upsert(pa.table({"p": [p] * 100, "k": list(range(100))}))
    before = threading.active_count()
    batches = table.scan().to_batches()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() <= before


class Stream:
    """Has Arrow's C interface, as tables of other libraries do."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def forms(rows: list[dict[str, Any]]) -> Iterator[Any]:
    """The same rows in all forms."""
    table = pa.Table.from_pylist(rows)
    yield rows
    yield iter(rows)
    yield table
    yield table.to_batches()[0]
    yield table.to_batches(7)
    yield table.to_reader(7)
    yield (batch for batch in table.to_batches(7))
    yield Stream(table)
    yield table.to_pandas()
    yield table.select(["v", "k"]).rename_columns(["V", "k"])


def test_forms_of_rows_that_are_written(catalog: Catalog) -> None:
    rows = [{"k": k, "v": f"{k % 3}"} for k in range(50)]
    for number, data in enumerate(forms(rows)):
        table = catalog.create_table(f"t{number}", {"k": "INT", "v": "STRING"}, ["k"])
        assert table.upsert(data) == 1
        assert sorted(table.scan().to_pylist(), key=lambda row: row["k"]) == rows
    for nothing in ([], pa.table({"k": pa.array([], pa.int32())}), iter([])):
        assert table.upsert(nothing) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([{"k": 1, "no": 2}], "no column no; it has k, d, at, s"),
        ([{"k": 1}, {"k": None}], r"row 2 \(k = None\): column k of the primary key does not take"),
        (pa.table({"k": [1, None]}), r"row 2 \(k = None\): column k of the primary key does not"),
        ([{"d": 1}], "the rows have no column k of the primary key; they have d"),
        ([{"k": "one"}], "column k, of type TINYINT, does not take 'one'"),
        ([{"k": 300}], "column k, of type TINYINT, does not take 300: expected a whole number"),
        (pa.table({"k": [1, 300]}), r"row 2 \(k = 300\): column k, of type TINYINT, does not"),
        (pa.table({"k": [1.5]}), "does not take 1.5 of Arrow type double"),
        (pa.table({"k": [1], "d": ["1"]}), "does not take '1' of Arrow type string"),
        (pa.table({"k": [1], "s": [5]}), "does not take 5 of Arrow type int64"),
        (pa.table({"k": [1], "K": [5]}), "column k comes twice"),
        ({"k": 1}, "found dict"),
        (5, "found int"),
        ([{"k": 1}, {"k": 2, "s": "x"}, {"k": 3, "other": 1}], "no column other"),
    ],
)
def test_rows_that_do_not_fit_leave_nothing(catalog: Catalog, data: Any, reason: str) -> None:
    columns = {"k": "TINYINT", "d": "DECIMAL(4,1)", "at": "TIMESTAMP_NTZ", "s": "STRING"}
    table = catalog.create_table("t", columns, ["k"])
    with pytest.raises(TableError, match=reason):
        table.upsert(data)
    assert table.snapshot is None
    assert not list(Path(table.location).rglob("*.parquet"))


def test_a_stream_that_fails_leaves_nothing(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"k": "BIGINT", "v": "STRING"}, ["k"])

    def failing() -> Iterator[dict[str, Any]]:
        for k in range(200_000):
            yield {"k": k, "v": "x" * 50}
        raise OSError("the source is gone")

    with pytest.raises(StoreError, match="the source is gone"):
        table.upsert(failing())
    assert table.snapshot is None
    assert not list(Path(table.location).rglob("*.parquet"))


def test_a_commit_that_fails_leaves_nothing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("t", {"k": "BIGINT"}, ["k"])

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(commit, "attempt", fail)
        with pytest.raises(StoreError, match="no space left"):
            table.upsert([{"k": 1}])
    assert not list(Path(table.location).rglob("*.parquet"))
    assert table.upsert([{"k": 1}]) == 1


def test_writes_spill_what_memory_does_not_hold(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path, threads=2, memory=256 << 20)
    options = {"bucket": "3", "write-buffer-size": "1 mb"}
    table = catalog.create_table("t", {"k": "BIGINT", "v": "STRING"}, ["k"], options=options)

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, 300_000, 10_000):
            k = pa.array(range(first, first + 10_000), pa.int64())
            rest = pc.bit_wise_and(k, 0xFFFF)
            yield pa.record_batch({"k": rest, "v": pc.cast(k, pa.utf8())})

    table.upsert(batches())
    found = table.scan().to_arrow().sort_by("k")
    last = [max(range(k, 300_000, 1 << 16)) for k in range(1 << 16)]
    assert found.column("k").to_pylist() == list(range(1 << 16))
    assert found.column("v").to_pylist() == list(map(str, last))


def test_defaults_are_filled_in_as_by_an_insert(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    held = table._catalog
    add = {"change": "add_column", "type": "integer", "nullable": True, "position": None}
    constant = {"default": "5", "default_value": {"literal": 5, "type": "integer"}}
    held.alter_table(["default"], "t", [{**add, **constant, "name": ["d"]}])
    table.upsert([{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    table.upsert([{"k": 2, "v": 2, "d": None}])
    assert {row["k"]: row["d"] for row in table.scan().to_pylist()} == {1: 5, 2: None}
    held.alter_table(
        ["default"],
        "t",
        [{"change": "update_column_default", "name": ["d"], "default": "rand()"}],
    )
    with pytest.raises(NotSupportedError, match=r"column d has a DEFAULT that Spark computes"):
        table.upsert([{"k": 1}])


def test_overwrites(catalog: Catalog) -> None:
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"])
    table.upsert([{"p": p, "k": "a", "v": p} for p in range(3)])
    table.overwrite([{"p": 1, "k": "b"}], "p = 1")
    assert sorted(stored(table)) == [(0, "a"), (1, "b"), (2, "a")]
    table.overwrite([{"p": 2, "k": "c"}], dynamic=True)
    assert sorted(stored(table)) == [(0, "a"), (1, "b"), (2, "c")]
    with pytest.raises(NotSupportedError, match="a condition takes partition columns"):
        table.overwrite([], "k = 'a'")
    with pytest.raises(TableError, match="where and dynamic"):
        table.overwrite([], "p = 1", dynamic=True)
    table.overwrite([{"p": 0, "k": "z"}])
    assert sorted(stored(table)) == [(0, "z")]
    assert table.truncate()
    assert stored(table) == {}


def test_deletes(catalog: Catalog) -> None:
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"])
    table.upsert([{"p": p, "k": k, "v": 1} for p, k in itertools.product(range(3), "abc")])
    table.delete(pa.table({"k": ["a", "b"], "p": [0, 7]}))
    table.delete(where="p = 1 AND k >= 'b'")
    assert sorted(stored(table)) == [(0, "b"), (0, "c"), (1, "a"), (2, "a"), (2, "b"), (2, "c")]
    assert table.delete(where="k = 'zz'") is None
    table.upsert([{"p": 5, "k": "a", "v": 7}])
    assert table.delete(where="v > 6") is not None
    assert (5, "a") not in stored(table)
    with pytest.raises(TableError, match="expected keys with the columns p, k, found k"):
        table.delete([{"k": "a"}])
    for wrong in ({}, {"keys": [], "where": "p = 1"}):
        with pytest.raises(TableError, match="expected keys or where"):
            table.delete(wrong.get("keys"), where=wrong.get("where"))


@pytest.mark.parametrize("engine", ENGINES)
def test_deletes_by_a_condition_on_values(catalog: Catalog, engine: str) -> None:
    options = {"merge-engine": engine, "bucket": "1"}
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], options)
    for v in (1, 5, 9):
        table.upsert([{"p": 0, "k": f"{k}", "v": v + k, "w": f"{v}"} for k in range(10)])
    limit = sorted(row["v"] for row in stored(table).values())[4]
    kept = {key: row for key, row in stored(table).items() if row["v"] <= limit}
    table.delete(where=f"v > {limit}")
    assert stored(table) == kept
    table.compact()
    assert stored(table) == kept
    assert len(kept) == 5


def test_a_delete_does_not_take_a_row_it_has_not_seen(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    table.upsert([{"k": 1, "v": 1}])
    publish = jobs.publish

    def overtaken(*given: Any) -> Any:
        monkeypatch.undo()
        table.upsert([{"k": 1, "v": 2}])
        return publish(*given)

    monkeypatch.setattr(jobs, "publish", overtaken)
    with pytest.raises(ConflictError, match="changed rows, in keys"):
        table.delete(where="v = 1")
    assert table.get({"k": 1}) == {"k": 1, "v": 2}


def test_merge_modes(catalog: Catalog) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"], options=options)
    table.upsert([{"k": 1, "v": 1}, {"k": 1, "v": 2}])
    assert table.get({"k": 1}) == {"k": 1, "v": 3}
    table.upsert([{"k": 1, "v": 9}], merge_mode="overwrite")
    assert table.get({"k": 1}) == {"k": 1, "v": 9}
    with pytest.raises(TableError, match="merge_mode"):
        table.upsert([{"k": 1, "v": 9}], merge_mode="other")


def test_of_two_writers_one_loses_its_partition(catalog: Catalog) -> None:
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"])
    table.upsert([{"p": 1, "k": "a"}])
    replaced = set(table.files().column("file_path").to_pylist())

    def meanwhile() -> Iterator[pa.RecordBatch]:
        for number in range(2):
            yield pa.record_batch({"p": [1], "k": [f"late-{number}"]})
            table.rescale(7)

    with pytest.raises(ConflictError):
        table.upsert(meanwhile())
    assert sorted(stored(table)) == [(1, "a")]
    live = set(table.files().column("file_path").to_pylist())
    assert {str(path) for path in Path(table.location).rglob("*.parquet")} - live <= replaced


def test_a_table_that_was_replaced_meanwhile_gets_nothing(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"k": "INT"}, ["k"])

    def meanwhile() -> Iterator[pa.RecordBatch]:
        for number in range(2):
            yield pa.record_batch({"k": [number]})
            catalog.drop_table("t")
            catalog.create_table("t", {"k": "INT"}, ["k"])

    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        table.upsert(meanwhile())
    assert table.snapshot is None
