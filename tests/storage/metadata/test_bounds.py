"""Cut bounds still bound."""

from hypothesis import given
from hypothesis import strategies as st

from keyfold.storage.metadata.cut_bounds import cut_high, cut_low

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(TEXT, st.integers(1, 5))
def test_cut_text_bounds(value: str, length: int) -> None:
    low, high = cut_low(value, length), cut_high(value, length)
    assert len(low) <= length
    assert low.encode() <= value.encode()
    assert high is None or (len(high) <= length and high.encode() >= value.encode())


@given(st.binary(max_size=12), st.integers(1, 5))
def test_cut_bytes_bound(value: bytes, length: int) -> None:
    high = cut_high(value, length)
    assert cut_low(value, length) <= value
    assert high is None or (len(high) <= length and high >= value)


def test_where_no_short_upper_bound_exists() -> None:
    assert cut_high("\U0010ffff" * 20, 16) is None
    assert cut_high(b"\xff" * 20, 16) is None
    assert cut_high("a" * 15 + "\U0010ffff" * 3, 16) == "a" * 14 + "b"
    assert cut_high("퟿" * 17, 16) == "퟿" * 15 + chr(0xE000)
    assert (cut_low(5, 16), cut_high(5, 16), cut_high(None, 16)) == (5, 5, None)
