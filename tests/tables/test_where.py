"""Conditions in SQL and as Arrow expressions keep exactly the rows that a slow evaluation keeps."""

import datetime
import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import Table, TableError
from tests.draws import times
from tests.read import harness

TYPES = {
    "k": "INT",
    "t": "TINYINT",
    "n": "BIGINT",
    "d": "DECIMAL(6,2)",
    "f": "FLOAT",
    "g": "DOUBLE",
    "s": "STRING",
    "c": "CHAR(3)",
    "b": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP_NTZ",
    "seen": "TIMESTAMP",
    "raw": "BINARY",
}
DAY = datetime.date(2026, 3, 1)
MOMENT = datetime.datetime(2026, 3, 1, 12, 30)
POOLS: Mapping[str, tuple[Any, ...]] = {
    "t": (-128, -1, 0, 5, 127),
    "n": (-(1 << 63), -1, 0, 5, 6, (1 << 53) + 1, (1 << 63) - 1),
    "d": tuple(map(Decimal, ("-9999.99", "-0.01", "0.00", "5.00", "5.50", "9999.99"))),
    "f": (-math.inf, -1.5, -0.0, 0.0, 0.1, 5.5, math.inf, math.nan),
    "g": (-math.inf, -1.5, -0.0, 0.0, 0.1, 5.5, math.inf, math.nan),
    "s": ("", "a", "ab", "b%", "b_c", "it's", "é"),
    "c": ("", "a", "a b", "abc"),
    "b": (True, False),
    "day": (DAY, DAY + datetime.timedelta(1), datetime.date(1969, 12, 31)),
    "at": (MOMENT, MOMENT + datetime.timedelta(microseconds=1), datetime.datetime(1969, 12, 31)),
    "seen": tuple(
        moment.replace(tzinfo=datetime.timezone.utc)
        for moment in (MOMENT, datetime.datetime(1969, 12, 31, 23, 59))
    ),
    "raw": (b"", b"\0", b"ab"),
}
NUMBERS = (
    *map(Decimal, ("-1000", "-128.5", "-0.005", "0", "0.1", "5", "5.5", "127.5", "1e20")),
    Decimal((1 << 53) + 1),
)
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Rows of few values, many of them NULL."""
    return [
        {"k": k} | {name: random.choice((None, *pool, *pool)) for name, pool in POOLS.items()}
        for k in range(count)
    ]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, seed: int) -> tuple[Table, list[Any]]:
    """A table of three runs in two buckets, and its rows as they are read."""
    catalog = keyfold.connect(tmp_path_factory.mktemp("where"), threads=2)
    table = catalog.create_table("t", TYPES, ["k"], options={"bucket": "2"})
    random = Random(seed)
    for _ in range(3):
        table.upsert(random.sample(rows(random, 120), 90))
    return table, table.scan().to_pylist()


def comparable(name: str, value: Any) -> Any:
    """A value in SQL's order: NaN greatest, -0.0 as 0.0, CHAR padded, instants in UTC."""
    if value is None:
        return None
    if name in ("f", "g"):
        number = float(value)
        return (1, Decimal(0)) if math.isnan(number) else (0, exact(value))
    return value.ljust(3) if name == "c" else value


def exact(value: Any) -> Any:
    return value if isinstance(value, float) and math.isinf(value) else Decimal(value)


def truth(name: str, op: str, stored: Any, constant: Any) -> bool | None:
    """Three-valued."""
    left, right = comparable(name, stored), comparable(name, constant)
    if op == "<=>":
        return left == right
    return None if left is None or right is None else OPERATORS[op](left, right)


def negated(found: bool | None) -> bool | None:
    return None if found is None else not found


def both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    return negated(both(negated(left), negated(right)))


Evaluation = Callable[[Mapping[str, Any]], bool | None]


def constant_of(random: Random, name: str) -> tuple[str, Any]:
    """SQL of a constant that the column may be compared with, and its value."""
    if random.random() < 0.08:
        return "NULL", None
    if name in ("t", "n", "d", "f", "g"):
        number = random.choice((*NUMBERS, *(v for v in POOLS[name] if math.isfinite(v))))
        if name == "g":
            number = float(number)  # a DOUBLE is compared with the nearest double
        shown = f"{number:f}" if isinstance(number, Decimal) else f"{Decimal(number):f}"
        return shown, number
    value = random.choice(POOLS[name])
    shown = {
        "s": lambda: "'" + value.replace("'", "''") + "'",
        "c": lambda: f"'{value}'",
        "b": lambda: str(value).upper(),
        "day": lambda: random.choice((f"DATE '{value}'", f"'{value}'")),
        "at": lambda: f"TIMESTAMP '{value}'",
        "seen": lambda: f"'{value.isoformat()}'",
        "raw": lambda: f"X'{value.hex()}'",
    }[name]()
    return shown, value


def leaf(random: Random) -> tuple[str, Evaluation]:
    """One comparison."""
    name = random.choice(list(POOLS))
    kind = random.random()
    if kind < 0.15:
        return f"{name} IS NULL", lambda row: row[name] is None
    if kind < 0.3:
        listed = [constant_of(random, name) for _ in range(random.randint(1, 3))]

        def among(row: Mapping[str, Any]) -> bool | None:
            found: bool | None = False
            for _, value in listed:
                found = either(found, truth(name, "=", row[name], value))
            return found

        return f"{name} IN ({', '.join(text for text, _ in listed)})", among
    if kind < 0.4:
        (low, least), (high, most) = (constant_of(random, name) for _ in range(2))
        return f"{name} BETWEEN {low} AND {high}", lambda row: both(
            truth(name, ">=", row[name], least), truth(name, "<=", row[name], most)
        )
    op = random.choice((*OPERATORS, "<=>"))
    text, value = constant_of(random, name)
    if random.random() < 0.2 and op in ("=", "<>"):
        return f"{text} {op} `{name}`", lambda row: truth(name, op, row[name], value)
    return f"{name.upper()} {op} {text}", lambda row: truth(name, op, row[name], value)


def condition(random: Random, depth: int) -> tuple[str, Evaluation]:
    """A random condition and its evaluation."""
    kind = random.random()
    if depth == 0 or kind < 0.3:
        return leaf(random)
    text, evaluate = condition(random, depth - 1)
    if kind < 0.5:
        return f"NOT ({text})", lambda row: negated(evaluate(row))
    other, evaluate_other = condition(random, depth - 1)
    if kind < 0.75:
        return f"({text}) AND ({other})", lambda row: both(evaluate(row), evaluate_other(row))
    return f"({text}) OR ({other})", lambda row: either(evaluate(row), evaluate_other(row))


def keys(found: list[dict[str, Any]]) -> list[int]:
    return sorted(row["k"] for row in found)


def test_random_conditions_keep_what_a_slow_evaluation_keeps(
    filled: tuple[Table, list[Any]], seed: int
) -> None:
    table, every = filled
    random = Random(seed)
    kept = 0
    for _ in range(times(120)):
        text, evaluate = condition(random, 2)
        wanted = keys([row for row in every if evaluate(row) is True])
        assert keys(table.scan(["k"], text).to_pylist()) == wanted, text
        kept += 0 < len(wanted) < len(every)
    assert kept > times(45)


def expressions(random: Random, depth: int) -> pc.Expression:
    """A random expression of Arrow over columns whose constants it can compare."""
    name = random.choice(("k", "t", "n", "d", "g", "s", "b", "day", "at"))
    pool = range(120) if name == "k" else POOLS[name]
    kind, value = random.random(), random.choice(pool)
    if depth and kind < 0.5:
        left, right = expressions(random, depth - 1), expressions(random, depth - 1)
        return random.choice((left & right, left | right, ~left))
    if kind < 0.6:
        return pc.field(name).is_null()
    if kind < 0.7:
        return pc.field(name).isin(random.sample(list(pool), 2))
    if name == "s" and kind < 0.8:
        return pc.starts_with(pc.field(name), value)
    constant = pa.scalar(value, pa.decimal128(6, 2)) if name == "d" else value
    return random.choice((operator.gt, operator.le, operator.eq, operator.ne))(
        pc.field(name), constant
    )


def test_expressions_keep_what_arrow_keeps(filled: tuple[Table, list[Any]], seed: int) -> None:
    table, _ = filled
    random, whole = Random(seed), table.scan().to_arrow()
    pushed = 0
    for _ in range(times(100)):
        expression = expressions(random, 2)
        wanted = keys(whole.filter(expression).to_pylist())
        found = table.scan(["k"], expression)
        assert keys(found.to_pylist()) == wanted, expression
        pushed += bool(found.condition.predicates)
    assert pushed > times(45)


def of_polars(random: Random, depth: int) -> polars.Expr:
    """A random expression of Polars."""
    name = random.choice(list(POOLS))
    column, (one, other) = polars.col(name), random.sample(POOLS[name], 2)
    kind = random.random()
    if depth and kind < 0.5:
        left, right = of_polars(random, depth - 1), of_polars(random, depth - 1)
        return random.choice((left & right, left | right, ~left))
    if kind < 0.6:
        return random.choice((column.is_null(), column.is_not_null()))
    if kind < 0.7:
        return column.is_in([one, random.choice((other, None))], nulls_equal=random.random() < 0.3)
    if kind < 0.75 and name != "b":
        return column.is_between(
            *map(polars.lit, (one, other)), closed=random.choice(("both", "left", "none"))
        )
    if kind < 0.8 and name in ("s", "c"):
        return column.str.starts_with(one)
    if kind < 0.85 and name in ("t", "n", "d", "f", "g"):
        return column < float(random.choice(NUMBERS))
    left, right = (column, one) if kind < 0.95 else (polars.lit(one), column)
    compare = random.choice((operator.gt, operator.le, operator.eq, operator.ne))
    found: polars.Expr = compare(left, right) if kind < 0.98 else column.eq_missing(one)
    return found


def test_filters_of_lazy_frames_keep_what_polars_keeps(
    filled: tuple[Table, list[Any]], seed: int
) -> None:
    table, _ = filled
    random, scan = Random(seed), table.scan()
    whole, lazy = scan.to_polars(), scan.to_polars(lazy=True)
    pushed = 0
    for _ in range(times(80)):
        expression = of_polars(random, 2)
        wanted = sorted(whole.filter(expression)["k"])
        assert sorted(lazy.filter(expression).collect()["k"]) == wanted, expression
        pushed += bool(scan.filtered(expression, whole.schema).condition.predicates)
    assert pushed > times(20)


def test_expressions_over_the_key_leave_out_files(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    for first in range(0, 40, 10):
        table.upsert([{"k": k, "v": k} for k in range(first, first + 10)])
    for where in ("k BETWEEN 10 AND 12", (pc.field("k") >= 10) & (pc.field("k") < 13)):
        scan = table.scan(where=where)
        assert keys(scan.to_pylist()) == [10, 11, 12]
        assert scan.explain()["files_skipped"] > 0
        assert scan.condition.is_enforced


def test_what_arrow_computes_is_left_to_arrow(filled: tuple[Table, list[Any]]) -> None:
    table, every = filled
    scan = table.scan(["k"], (pc.field("k") + pc.field("t") > 20) & (pc.field("k") < 100))
    wanted = [r for r in every if r["t"] is not None and r["k"] + r["t"] > 20 and r["k"] < 100]
    assert keys(scan.to_pylist()) == keys(wanted)
    assert scan.condition.predicates == (harness.where("<", "k", 100, type="integer"),)


@pytest.mark.parametrize("pattern", ["a%", "%b", "%", "a", "_b", "b\\%", "b\\_%", "%'%", ""])
def test_like(filled: tuple[Table, list[Any]], pattern: str) -> None:
    table, every = filled
    text = pattern.replace("'", "''")
    column = pa.array([row["s"] for row in every], pa.utf8())
    wanted = pc.fill_null(pc.match_like(column, pattern), False).to_pylist()
    found = table.scan(["k"], f"s LIKE '{text}'").to_pylist()
    assert keys(found) == keys([row for row, is_like in zip(every, wanted, strict=True) if is_like])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\'b'", "a'b"),
        ("'a''b'", "a'b"),
        (r"'a\\'", "a\\"),
        (r"'\n\t\q'", "\n\tq"),
        (r"'\u00e4\U0001F600\101'", "ä😀A"),
        (r"'a\%\_'", "a\\%\\_"),
        (r'"a\"b"', 'a"b'),
    ],
)
def test_texts_have_the_escapes_of_spark(tmp_path: Path, text: str, value: str) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "STRING", "v": "INT"}, ["k"])
    table.upsert([{"k": value, "v": 1}, {"k": "other", "v": 2}])
    assert table.scan(["v"], f"k = {text}").to_pylist() == [{"v": 1}]


@pytest.mark.parametrize("where", ["NOT " * 2000 + "k = 1", "(" * 3000 + "k = 1" + ")" * 3000])
def test_conditions_are_not_nested_without_end(tmp_path: Path, where: str) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ["k"])
    with pytest.raises(TableError, match="nested too deeply"):
        table.scan(where=where)
    assert table.scan(where="NOT " * 150 + "k = 1").to_pylist() == []


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("", "expected a constant"),
        ("k", "expected a comparison of column k"),
        ("k = ", "expected a constant"),
        ("k = 1 AND", "expected a constant"),
        ("k = 1 k = 2", "expected AND, OR or the end, found k"),
        ("(k = 1", r"expected \)"),
        ("k = n", "expected a constant, found n"),
        ("abs(k) = 1", "the function abs is not supported"),
        ("k + 1 = 2", r"found \+"),
        ("s.x = 1", "fields of the column s are not supported"),
        ("nothing = 1", "no column nothing"),
        ("k = 'one'", "can't be compared with 'one'"),
        ("s = 1", "can't be compared with"),
        ("b > INTERVAL '1' DAY", "INTERVAL '…' is not supported"),
        ("day = DATE '2026-13-01'", "a constant of DATE"),
        ("at = TIMESTAMP '2026-01-01T00:00:00Z'", "can't be compared"),
        ("k LIKE 'a%'", "k has no LIKE"),
        ("5", "expected a comparison"),
        ("k IS 5", "expected NULL, TRUE or FALSE"),
        ("k < > 5", "expected a constant"),
    ],
)
def test_what_is_not_read_is_refused_by_name(
    filled: tuple[Table, list[Any]], where: str, reason: str
) -> None:
    with pytest.raises(TableError, match=reason):
        filled[0].scan(where=where)


def test_an_expression_names_columns_of_the_table(filled: tuple[Table, list[Any]]) -> None:
    with pytest.raises(TableError, match="no column nothing"):
        filled[0].scan(where=pc.field("nothing") > 1)
    with pytest.raises(TableError, match="found int"):
        filled[0].scan(where=5)  # type: ignore[arg-type]
