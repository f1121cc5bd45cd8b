"""avg as the function of a column, beside the mean of all values that were written, exactly."""

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold.errors import NotSupportedError, TableError

KINDS = {"DOUBLE": ("DOUBLE", float), "DECIMAL(9,2)": ("DECIMAL(38,2)", Decimal)}
OPTIONS = {
    "merge-engine": "aggregation",
    "fields.x.aggregate-function": "avg",
    "fields.x.sum-and-count": "s, c",
    "fields.n.aggregate-function": "sum",
    "bucket": "1",
}


def made(folder: Path, kind: str = "DOUBLE", **more: str) -> Any:
    columns = {"k": "INT", "x": kind, "n": "BIGINT", "s": KINDS[kind][0], "c": "BIGINT"}
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", columns, ["k"], (), OPTIONS | more)


def mean(kind: str, values: list[Any]) -> Any:
    if not values:
        return None
    if kind == "DOUBLE":
        return sum(values) / len(values)
    exact = Decimal(sum(values)) / len(values)
    return exact.quantize(Decimal("0.01"), ROUND_HALF_UP)


def found(table: Any) -> dict[int, Any]:
    rows = table.scan(["k", "x"]).to_pylist()
    whole = table.scan().to_pylist()
    assert {row["k"]: row["x"] for row in whole} == {row["k"]: row["x"] for row in rows}
    keys = [{"k": row["k"]} for row in rows]
    assert table.get_many(keys, ["k", "x"]).to_pylist() == rows if keys else True
    return {row["k"]: row["x"] for row in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_random_histories(tmp_path: Path, seed: int, kind: str) -> None:
    """Quarters add up exactly; at least two values stay of each key, so that none is alone."""
    random, table = Random(f"{seed} {kind}"), made(tmp_path, kind, **{"write-only": "true"})
    values: dict[int, list[Any]] = {}

    def value() -> Any:
        if random.random() < 0.2:
            return None
        return KINDS[kind][1](random.randrange(-4000, 4000)) / 4

    def add(key: int, one: Any) -> dict[str, Any]:
        values.setdefault(key, []).extend([] if one is None else [one])
        return {"k": key, "x": one}

    for _ in range(12):
        step = random.choice(("add", "add", "take", "compact", "update", "other", "merge"))
        if step == "add":
            table.upsert([add(random.randrange(20), value()) for _ in range(30)])
        if step == "take":
            rich = [key for key, of_key in values.items() if len(of_key) > 2]
            rows = [{"k": key, "x": values[key].pop()} for key in rich[:5]]
            table.upsert(rows, row_kind="-U")
        if step == "compact":
            table.compact(random.choice(("minor", "full")))
        if step == "update" and values:
            key = random.choice(list(values))
            values[key] = [KINDS[kind][1](7)]
            table.update(f"k = {key}", {"x": 7})
        if step == "other":
            table.update("k < 10", {"n": 1})
            table.upsert([{"k": key, "n": 2} for key in list(values)[:5]])
        if step == "merge" and values:
            key, new = random.choice(list(values)), 100 + len(values)
            rows = [{"k": key, "x": 3}, add(new, KINDS[kind][1](5))]
            values[key] = [KINDS[kind][1](3)]
            clauses = table.merge(
                pa.Table.from_pylist(
                    rows, pa.schema([("k", pa.int32()), ("x", table.schema.field("x").type)])
                ),
                ["k"],
            )
            clauses.when_matched_update({"x": pc.field("source", "x")})
            clauses.when_not_matched_insert_all().execute()
        assert found(table) == {key: mean(kind, of_key) for key, of_key in values.items()}
    sums = table.scan(["k", "s", "c"]).to_pylist()
    assert {r["k"]: (r["s"] or 0, r["c"]) for r in sums if r["k"] in values} == {
        key: (sum(of_key), len(of_key)) for key, of_key in values.items()
    }


def test_halves_go_away_from_zero_and_too_great_sums_are_infinite(tmp_path: Path) -> None:
    table = made(tmp_path, "DECIMAL(9,2)")
    for one in ("0.01", "0.02"):
        table.upsert([{"k": 1, "x": Decimal(one)}, {"k": 2, "x": -Decimal(one)}])
    assert found(table) == {1: Decimal("0.02"), 2: Decimal("-0.02")}
    wide = made(tmp_path / "wide")
    wide.upsert([{"k": 1, "x": 1e308}])
    wide.upsert([{"k": 1, "x": 1e308}])
    assert found(wide) == {1: float("inf")}  # as a sum has it


def test_updates_of_other_columns_keep_the_weight(tmp_path: Path) -> None:
    """Also where a statement writes whole rows, as under a sequence."""
    columns = {"k": "INT", "x": "DOUBLE", "n": "BIGINT", "s": "DOUBLE", "c": "BIGINT", "q": "INT"}
    table = keyfold.connect(tmp_path).create_table(
        "t", columns, ["k"], (), OPTIONS | {"sequence.field": "q"}
    )
    table.upsert([{"k": 1, "x": 1.0, "q": 1}, {"k": 1, "x": 3.0, "q": 2}])
    table.update("k = 1", {"n": 5})
    table.upsert([{"k": 1, "x": 5.0, "q": 3}])
    assert table.scan(["x", "s", "c"]).to_pylist() == [{"x": 3.0, "s": 9.0, "c": 3}]
    table.update("k = 1", {"x": 1.0})
    table.upsert([{"k": 1, "x": 2.0, "q": 4}])
    assert table.scan(["x", "s", "c"]).to_pylist() == [{"x": 1.5, "s": 3.0, "c": 2}]


def test_renamed_columns_go_on(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert([{"k": 1, "x": 1.0}])
    table.alter(rename={"x": "y", "s": "y_sum"})
    table.upsert([{"k": 1, "y": 2.0}])
    assert table.scan(["y"]).to_pylist() == [{"y": 1.5}]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"fields.x.sum-and-count": None}, TableError, "as x_sum DOUBLE, x_count BIGINT"),
        ({"fields.x.sum-and-count": "s"}, TableError, "as x_sum DOUBLE, x_count BIGINT"),
        ({"fields.x.sum-and-count": "s,z"}, TableError, "z, its count, is not a column"),
        ({"fields.x.sum-and-count": "s,k"}, TableError, "k, its count, is not a column"),
        ({"fields.x.sum-and-count": "c,s"}, TableError, "found DOUBLE, BIGINT, DOUBLE"),
        ({"fields.s.aggregate-function": "max"}, TableError, "s, its sum, folds by sum"),
        ({"merge-engine": "deduplicate"}, NotSupportedError, "needs merge-engine = aggregation"),
        (
            {"fields.n.aggregate-function": "avg", "fields.n.sum-and-count": "m, c"},
            TableError,
            "column x: c, its count, is that of n, too",
        ),
        ({"fields.x.aggregate-function": "max"}, TableError, "it belongs to 'avg', which fields.x"),
        (
            {"fields.default-aggregate-function": "AVG"},
            TableError,
            "avg is a function of single columns",
        ),
    ],
)
def test_what_a_mean_lacks_is_said(
    tmp_path: Path, options: dict[str, Any], error: Any, words: str
) -> None:
    columns = {"k": "INT", "x": "DOUBLE", "s": "DOUBLE", "c": "BIGINT", "n": "DOUBLE"}
    columns |= {"m": "DOUBLE"}
    named = {name: text for name, text in (OPTIONS | options).items() if text is not None}
    with pytest.raises(error, match=words):
        keyfold.connect(tmp_path).create_table("t", columns, ["k"], (), named)


def test_nobody_writes_the_sum(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert([{"k": 1, "x": 1.0}])
    for write in (
        lambda: table.upsert([{"k": 1, "s": 1.0}]),
        lambda: table.upsert([{"k": 1, "x": 1.0, "n": 1, "s": 1.0, "c": 1}]),
        lambda: table.update("k = 1", {"c": 2}),
    ):
        with pytest.raises(TableError, match="is filled from the values of x"):
            write()
    plain = keyfold.connect(tmp_path).create_table(
        "p", {"k": "INT", "x": "DOUBLE"}, ["k"], (), {"merge-engine": "aggregation"}
    )
    plain.alter(add={"s": "DOUBLE", "c": "BIGINT"})
    late = {
        name: OPTIONS[name] for name in ("fields.x.aggregate-function", "fields.x.sum-and-count")
    }
    with pytest.raises(NotSupportedError, match="is set when the table is made"):
        plain.alter(options=late)


def test_transactions_and_changes_show_means(tmp_path: Path) -> None:
    table = made(tmp_path, **{"changelog-producer": "lookup"})
    with table.transaction() as within:
        within.upsert([{"k": 1, "x": 1.0}])
        within.upsert([{"k": 1, "x": 2.0}])
        assert within.get({"k": 1}, ["x", "c"]) == {"x": 1.5, "c": 2}
    snapshot = table.snapshot
    table.upsert([{"k": 1, "x": 6.0}])
    told = table.changes(snapshot, columns=["x"]).to_arrow().column("x").to_pylist()
    assert sorted(told) == [1.5, 3.0]
    assert table.get_or_insert({"k": 2})["x"] is None
    table.upsert([{"k": 2, "x": 4.0}])
    assert found(table) == {1: 3.0, 2: 4.0}
