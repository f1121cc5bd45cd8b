"""Marks: their texts, bits and unions, and what they make of each column of a step."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from keyfold.kernels.buffers import ones
from keyfold.kernels.ops import ADD, RETRACT, SKIP
from keyfold.merge.column_results import Columns
from keyfold.merge.engine import MergeStep
from keyfold.merge.marks.mark_columns import NAMED, OVERWRITTEN, Bits, Marks, marks_of, unmarked
from keyfold.merge.marks.mark_effects import column_ops
from keyfold.testing.tables import layout

WIDE = layout({"k": "INT"} | {f"c{i}": "INT" for i in range(1, 131)}, ["k"])
FEW = layout({"k": "INT", "a": "INT", "b": "INT"}, ["k"])


def marked(bits: Bits, named: list[str | None], overwritten: list[str | None]) -> Marks:
    arrays = [pa.array(named, pa.utf8()), pa.array(overwritten, pa.utf8())]
    found = marks_of(bits, [pa.RecordBatch.from_arrays(arrays, [NAMED, OVERWRITTEN])])
    assert found is not None
    return found


@pytest.mark.parametrize("table", [FEW, WIDE], ids=["few", "wide"])
def test_texts_become_bits_and_texts_again(table: object) -> None:
    bits, random = Bits.of(table), Random(3)
    named, overwritten = [], []
    for _ in range(200):
        some = sorted(random.sample(bits.ids, random.randrange(len(bits.ids))))
        named.append(random.choice([None, "", ",".join(map(str, some))]))
        overwritten.append(random.choice([None, "", "*", ",".join(map(str, some[::2]))]))
    assert [column.to_pylist() for column in marked(bits, named, overwritten).arrays()] == [
        named,
        overwritten,
    ]


def test_what_a_text_says_of_columns() -> None:
    marks = marked(Bits.of(FEW), [None, "", "2", "1,2", "1,99"], [None, "", None, "*", "1"])
    assert marks.names("a").tolist() == [True, False, False, True, True]
    assert marks.names("b").tolist() == [True, False, True, True, False]
    assert marks.names("k").all()
    assert not marks.replaces("k").any()
    assert marks.replaces("a").tolist() == [False, False, False, True, True]
    assert marks.is_marked.tolist() == [False, True, False, True, True]
    assert marks.is_whole.tolist() == [False, False, False, True, False]


def test_a_column_is_passed_over_if_all_rows_name_it_and_none_replaces_it() -> None:
    bits = Bits.of(FEW)
    for named, overwritten, expected in (
        ([None, "1"], [None, None], [True, False]),
        ([None, None], [None, "2"], [True, False]),
        (["1,2", None], ["", None], [True, True]),
    ):
        marks = marked(bits, named, overwritten)
        for found in (marks, marks.take(np.array([1, 0, 1]))):
            assert [found.passes_over(name) for name in "ab"] == expected


def test_a_column_that_is_added_later_is_overwritten_too() -> None:
    later = layout({"k": "INT", "a": "INT", "b": "INT", "new": "INT"}, ["k"])
    assert marked(Bits.of(later), [None], ["*"]).replaces("new").all()
    assert not marked(Bits.of(later), ["1,2"], ["1,2"]).names("new").any()


def test_columns_without_marks_need_no_work() -> None:
    bits = Bits.of(FEW)
    batch = pa.RecordBatch.from_arrays([pa.nulls(2, pa.utf8())] * 2, [NAMED, OVERWRITTEN])
    assert marks_of(bits, [batch]) is None
    assert [column.null_count for column in unmarked(bits, 2).arrays()] == [2, 2]


def test_a_union_is_what_any_row_names() -> None:
    marks = marked(Bits.of(FEW), ["1", "2", ""], [None, "2", None])
    order, starts = np.array([2, 0, 1]), np.array([0, 1, 3])
    united = marks.united(order, starts)
    assert [column.to_pylist() for column in united.arrays()] == [["", None], [None, "2"]]
    whole = united.everything(np.array([True, False]))
    assert [column.to_pylist() for column in whole.arrays()] == [["", None], ["*", "2"]]
    less = united.without("a", np.array([True, True]))
    assert [column.to_pylist() for column in less.arrays()] == [["", "2"], [None, "2"]]


def test_operations_of_a_column() -> None:
    rows = pa.array([1, 2, None, 4, 5], pa.int32())
    columns = Columns([pa.RecordBatch.from_pydict({"a": rows})], ["a"])
    order, starts = np.arange(5), np.array([0, 5])
    named, overwritten = [None, "1", "1", "2", None], [None, None, "1", None, None]
    step = MergeStep(columns, None, order, starts, marked(Bits.of(FEW), named, overwritten))
    ops = ones(5).view(np.int8).copy()
    assert column_ops(step, "a", ops).tolist() == [SKIP, SKIP, ADD, SKIP, ADD]
    ops[4] = RETRACT
    assert column_ops(step, "a", ops).tolist() == [SKIP, SKIP, ADD, SKIP, RETRACT]
    cleared = marked(Bits.of(FEW), [None, "1", "", "2", None], overwritten)
    step = MergeStep(columns, None, order, starts, cleared)
    assert column_ops(step, "a", ops).tolist() == [SKIP, SKIP, SKIP, SKIP, RETRACT]
    plain = MergeStep(columns, None, order, starts)
    assert column_ops(plain, "a", ops) is ops
