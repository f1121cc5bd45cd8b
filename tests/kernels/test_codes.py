"""Codes of nested values: equal values, one code."""

import pyarrow as pa

from keyfold.kernels.groups.codes import codes

MAPS = pa.map_(pa.utf8(), pa.list_(pa.float64()))


def coded(items: list[object], kind: pa.DataType) -> list[int]:
    """Codes of items, the column being a slice, numbered as they come up."""
    array = pa.concat_arrays([pa.array(items[:1], kind), pa.array(items, kind)]).slice(1)
    seen: dict[int, int] = {}
    found, count = codes([array])
    assert all(0 <= code < count for code in found)
    return [seen.setdefault(code, len(seen)) for code in found.tolist()]


def test_maps_are_equal_in_any_order_of_their_entries() -> None:
    one, two = ("a", [1.0, None]), ("b", [])
    items: list[object] = [[one, two], [two, one], [one], None, [], [two], None]
    assert coded(items, MAPS) == [0, 0, 1, 2, 3, 4, 2]


def test_lists_are_equal_element_by_element() -> None:
    nan = float("nan")
    items: list[object] = [[], None, [None], [0.0], [-0.0], [nan], [0.0, nan], [nan], [None], []]
    assert coded(items, pa.list_(pa.float64())) == [0, 1, 2, 3, 4, 5, 6, 5, 2, 0]


def test_a_list_of_nothing_and_a_nested_list_of_nothing_differ() -> None:
    kind = pa.list_(pa.list_(pa.struct([("a", pa.int32())])))
    items: list[object] = [[], [[]], [[], []], [[{"a": 1}]], [[{"a": None}]], [[None]], [[]]]
    assert coded(items, kind) == [0, 1, 2, 3, 4, 5, 1]
