"""A DEFAULT that stored rows are given: functions that would count it once a record refuse it."""

import json
from dataclasses import replace

import pytest

from keyfold.errors import NotSupportedError
from keyfold.merge.plan import check
from keyfold.testing.tables import layout
from keyfold.types import spark as spark_types
from keyfold.wire.layout import TableLayout


def added(kind: str, value: object, options: dict[str, str]) -> TableLayout:
    """A table whose column `v` was added with a DEFAULT when it held data."""
    found = layout({"k": "INT", "v": kind}, ["k"], options)
    spark = spark_types.to_spark(found.columns[1].type)
    stored = json.dumps({"literal": value, "type": spark})
    return replace(found, columns=(found.columns[0], replace(found.columns[1], initial=stored)))


def function(name: str, **more: str) -> dict[str, str]:
    settings = {f"fields.v.{suffix.replace('_', '-')}": text for suffix, text in more.items()}
    return {"merge-engine": "aggregation", "fields.v.aggregate-function": name} | settings


@pytest.mark.parametrize(
    ("kind", "value", "options"),
    [
        ("INT", 5, {}),
        ("INT", 5, {"merge-engine": "first-row"}),
        ("INT", 5, {"merge-engine": "partial-update"}),
        ("INT", 5, {"merge-engine": "aggregation"}),
        *(
            ("INT", 5, function(name))
            for name in ("last_value", "first_value", "first_non_null_value", "min", "max")
        ),
        ("INT", 0, function("sum")),
        ("INT", 1, function("product")),
        ("BOOLEAN", True, function("bool_and")),
        ("DOUBLE", "NaN", function("max")),
        ("STRING", "a", function("listagg", distinct="true")),
    ],
)
def test_what_folds_a_constant_with_itself_to_itself_takes_it(
    kind: str, value: object, options: dict[str, str]
) -> None:
    check(added(kind, value, options))


@pytest.mark.parametrize(
    ("kind", "value", "options"),
    [
        ("INT", 5, function("sum")),
        ("DECIMAL(20, 2)", "1.5", function("product")),
        ("BIGINT", 1, function("count")),
        ("STRING", "a", function("listagg")),
        ("INT", 5, {"merge-engine": "aggregation", "fields.default-aggregate-function": "sum"}),
    ],
)
def test_what_would_count_each_record_is_refused(
    kind: str, value: object, options: dict[str, str]
) -> None:
    with pytest.raises(NotSupportedError, match=r"column v was added with a DEFAULT .* once for"):
        check(added(kind, value, options))
