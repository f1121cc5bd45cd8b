"""Calls of the catalog's functions are qualified, whatever else the SQL says."""

import pytest

from integration.conformance.functions import qualified

NAMES = {"bitmap_count", "bitmap_union"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT BITMAP_COUNT (b) FROM t", "SELECT c.BITMAP_COUNT (b) FROM t"),
        ("SELECT bitmap_count(bitmap_union(b))", "SELECT c.bitmap_count(c.bitmap_union(b))"),
        ("SELECT c.bitmap_count(b), my_bitmap_count(b)", None),
        ("SELECT bitmap_count, bitmap_counts(b) FROM bitmap_union", None),
    ],
)
def test_calls_are_qualified(text: str, expected: str | None) -> None:
    assert qualified(text, NAMES, "c") == (expected or text)
    assert qualified(text, (), "c") == text
