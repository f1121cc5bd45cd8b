"""What a user reads when a function is wrong: their file and line, why, and the key of the row."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import keyfold
from keyfold.errors import FunctionError, TableError
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.options import provided
from keyfold.testing.tables import batch, layout, parse, records, render
from keyfold.user_functions import shipping
from keyfold.user_functions.sources import Sources
from keyfold.user_functions.user_function import UserFunction

aggregate: Any = keyfold.aggregate


def line_of(function: UserFunction, text: str) -> str:
    """The file and line of this module's source that a message must name."""
    lines, first = inspect.getsourcelines(function.function)
    return f"{__file__}, line {first + next(n for n, line in enumerate(lines) if text in line)}"


def merged(
    text: str, options: dict[str, str], *own: UserFunction, columns: str = "id INT v BIGINT"
) -> str:
    """What rows of a key `id` fold to, with functions registered as a session does."""
    words = columns.split()
    table = layout(dict(zip(words[::2], words[1::2], strict=True)), ["id"], options)
    code = {"registered": {one.name: shipping.dumps(one) for one in own}}
    with provided.by(Sources.from_json(code)):
        folded = fold_unsorted(
            plan_merge(table, table.arrow_schema.names), [batch(table, parse(table, text))]
        )
    return render(records(folded))


def added(types: Any, **of_kind: Any) -> UserFunction:
    """A sum declared in some way."""
    made: UserFunction = aggregate(types, name="added", **of_kind)(lambda a, b: a + b)
    return made


def aggregation(name: str) -> dict[str, str]:
    return {"merge-engine": "aggregation", "fields.v.aggregate-function": name}


@aggregate("BIGINT")
def divided(accumulator, value):  # type: ignore[no-untyped-def]
    if value > 9:
        raise ValueError("too much")
    return accumulator // value


@aggregate("BIGINT")
def attribute(accumulator, value):  # type: ignore[no-untyped-def]
    small = 1
    return accumulator.size + small


@aggregate("BIGINT")
def fraction(accumulator, value):  # type: ignore[no-untyped-def]
    return accumulator / 2


@aggregate("BIGINT")
def sometimes(accumulator, value):  # type: ignore[no-untyped-def]
    if value > accumulator:
        return value
    return None


@aggregate("BIGINT")
def importing(accumulator, value):  # type: ignore[no-untyped-def]
    import math  # noqa: PLC0415

    return math.gcd(accumulator, value)


@aggregate({"a": "BIGINT", "b": "DOUBLE"})
def narrow(accumulator, value):  # type: ignore[no-untyped-def]
    return accumulator.a, accumulator.a, value.b


@aggregate.pick("STRING")
def first_letter(best, value):  # type: ignore[no-untyped-def]
    return value[0] < best[0]


@aggregate.pick("STRING")
def length(best, value):  # type: ignore[no-untyped-def]
    return len(value)


@aggregate.combine()
def spelled(values):  # type: ignore[no-untyped-def]
    if 13 in values:
        raise KeyError("unlucky")
    return "text"


@aggregate.combine()
def leaving(values):  # type: ignore[no-untyped-def]
    sys.exit(3)


@aggregate.gather()
def too_few(values, offsets):  # type: ignore[no-untyped-def]
    return values[:1]


@keyfold.engine({"v": "BIGINT"})
def newer(kept, row):  # type: ignore[no-untyped-def]
    return 10 // row.v > kept.v


@pytest.mark.parametrize(
    ("own", "place", "words"),
    [
        (attribute, "accumulator.size", "Unknown attribute 'size' of type int64"),
        (fraction, "", "it gives float64, expected a whole number"),
        (narrow, "", r"it gives .*, expected a tuple \(a, b\)"),
        (length, "", "it gives int64, expected True or False"),
        (sometimes, "", "it gives int64 or None, expected a whole number"),
        (importing, "", r"Use of unsupported opcode \(IMPORT_NAME\) found$"),
    ],
)
def test_what_does_not_compile_names_file_and_line(
    own: UserFunction, place: str, words: str
) -> None:
    found = f"aggregate function '{own.name}', for .*: {re.escape(line_of(own, place))}: {words}"
    with pytest.raises(FunctionError, match=found):
        shipping.compile_all(own)


def test_a_column_of_a_function_that_does_not_compile_is_named() -> None:
    with pytest.raises(
        FunctionError, match=r"table db\.t, column v: aggregate function 'fraction'"
    ):
        merged("+I 1 1", aggregation("fraction"), fraction)


@pytest.mark.parametrize(
    ("own", "text", "place", "words"),
    [
        (divided, "+I 1 5 | +I 1 2 | +I 7 8 | +I 7 0", "//", "ZeroDivisionError: .*, at (8, 0)"),
        (divided, "+I 1 5 | +I 7 10 | +I 7 11", "raise", "ValueError: too much, at (10, 11)"),
        (spelled, "+I 1 5 | +I 7 1 | +I 7 13", "raise", "KeyError: 'unlucky', at ([1, 13])"),
        (spelled, "+I 1 5 | +I 7 1 | +I 7 12", "", "gave 'text', expected int64"),
        (leaving, "+I 1 5 | +I 7 1 | +I 7 12", "sys.exit", "SystemExit: 3, at ([1, 12])"),
    ],
)
def test_what_raises_at_a_row_names_its_key(
    own: UserFunction, text: str, place: str, words: str
) -> None:
    pattern = ".*".join(map(re.escape, words.split(".*")))
    with pytest.raises(TableError) as found:
        merged(text, aggregation(own.name), own)
    message = str(found.value)
    start = f"table db.t, column v, key (id = 7): aggregate function '{own.name}' at "
    assert message.startswith(f"{start}{line_of(own, place)}")
    assert re.search(pattern, message)


def test_a_batch_function_that_gives_too_few_values() -> None:
    words = r"key \(id = 7\): .* gave 1 of int64, expected an Arrow array of 2 of int64: one value"
    with pytest.raises(TableError, match=words):
        merged("+I 7 1 | +I 7 5 | +I 8 5", aggregation("too_few"), too_few)


def test_a_text_is_not_read_beyond_its_end() -> None:
    run = partial(merged, columns="id INT v STRING")
    assert run("+I 1 b | +I 1 a", aggregation("first_letter"), first_letter) == "+I 1 a"
    table = layout({"id": "INT", "v": "STRING"}, ["id"], aggregation("first_letter"))
    rows = batch(table, [(0, {"id": 1, "v": "b"}), (0, {"id": 1, "v": ""})])
    with pytest.raises(TableError, match=r"IndexError: .*, at \(b'b', b''\)"):  # noqa: SIM117
        with provided.by(Sources(registered={"first_letter": shipping.dumps(first_letter)})):
            fold_unsorted(plan_merge(table, ["id", "v"]), [rows])


def test_an_engine_that_raises_names_the_key_and_refuses_deletes() -> None:
    options = {"merge-engine": "newer"}
    assert merged("+I 1 1 | +I 1 2 | +I 1 1", options, newer) == "+I 1 1"
    with pytest.raises(
        TableError, match=r"table db\.t, key \(id = 7\): merge engine 'newer' at .*"
    ):
        merged("+I 7 1 | +I 7 0", options, newer)
    with pytest.raises(TableError, match=r"takes no -U and -D rows; set 'ignore-delete' = 'true'"):
        merged("+I 1 1 | -D 1 2", options, newer)


def yielding(accumulator: int, value: int) -> Any:
    yield accumulator + value


async def awaited(accumulator: int, value: int) -> int:
    return accumulator + value


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: aggregate("TEXT")(lambda a, b: a), "types must be of TINYINT, .*, found 'TEXT'"),
        (lambda: aggregate("DECIMAL(9, 2)", name="x")(lambda a, b: a), "gather take any type"),
        (lambda: aggregate("INT")(yielding), r"line \d+: it returns its value: no yield"),
        (lambda: aggregate("INT")(awaited), "it returns its value: no yield and no async"),
        (lambda: aggregate("STRING", name="x")(lambda a, b: a), "types must be of TINYINT, "),
        (lambda: aggregate(name="sum")(lambda a, b: a), "keyfold itself has one of that name"),
        (lambda: aggregate(name="x")(lambda a: a), "it takes 1 arguments, expected 2"),
        (lambda: aggregate(name="a b")(lambda a, b: a), "a name is a letter, then letters"),
        (lambda: aggregate(name="x", nulls="no")(lambda a, b: a), "nulls must be 'skip' or 'see'"),
        (
            lambda: aggregate(name="x", retract=lambda a, b: a)(lambda a, b: a),
            "retract needs the identity it starts from",
        ),
        (lambda: aggregate(lambda a, b: a), r"write @keyfold.aggregate\(…\), with parentheses"),
        (lambda: aggregate.pick(lambda a, b: a), "with parentheses, above <lambda>"),
        (lambda: aggregate.combine(lambda values: values), "with parentheses"),
        (lambda: aggregate.gather("INT"), "is for any type and takes none, found 'INT'"),
        (lambda: keyfold.engine(lambda a, b: a), "with parentheses"),
        (lambda: aggregate(int)(lambda a, b: a), "types must be of .*, found <class 'int'>"),
        (lambda: aggregate("INT")(max), "expected a function that def or lambda made, found"),
        (lambda: added("INT", identity="x"), "the identity of INT must be a whole number"),
        (lambda: added(("INT", "DOUBLE"), identity=0.5), "the identity of INT must be a whole"),
        (lambda: added("BOOLEAN", identity=0), "the identity of BOOLEAN must be True or False"),
        (lambda: added({"a": "INT", "b": "INT"}, identity=0), "a value for each of a, b, found 0"),
        (lambda: added("INT", identity=0, retract=3), "retract: expected a function"),
        (lambda: added("INT", identity=0, retract=lambda a: a), "it takes 1 arguments, expected 2"),
        (lambda: keyfold.engine({}, name="x")(lambda a, b: a), "columns must be a dict"),
        (
            lambda: keyfold.engine({"v": "INT"}, name="deduplicate")(lambda a, b: True),
            "keyfold itself has one of that name",
        ),
    ],
)
def test_what_can_not_be_declared(declare: Callable[[], object], words: str) -> None:
    with pytest.raises(FunctionError, match=words):
        declare()


def test_an_engine_needs_its_columns() -> None:
    table = layout({"id": "INT", "w": "BIGINT"}, ["id"], {"merge-engine": "newer"})
    with provided.by(Sources(registered={"newer": shipping.dumps(newer)})):
        with pytest.raises(TableError, match=r"needs a column v BIGINT; the table has id, w"):
            plan_merge(table, ["id"])
        other = layout({"id": "INT", "v": "INT"}, ["id"], {"merge-engine": "newer"})
        with pytest.raises(TableError, match=r"needs a column v BIGINT, found INT"):
            plan_merge(other, ["id"])


def test_what_can_not_be_shipped() -> None:
    frame = inspect.currentframe()

    @aggregate.combine()
    def framed(values):  # type: ignore[no-untyped-def]
        return frame

    with pytest.raises(FunctionError, match=r"'framed' at .* can't be shipped: .*TypeError"):
        shipping.dumps(framed)
    with pytest.raises(FunctionError, match=r"keyfold\.register takes functions that"):
        shipping.register(None, max)  # type: ignore[arg-type]
    with pytest.raises(FunctionError, match=r"register\(spark, attribute\): the session comes"):
        shipping.register(attribute)  # type: ignore[arg-type]
