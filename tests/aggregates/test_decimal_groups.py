"""Sums and extremes of DECIMAL, each row added to its group, beside Python's own."""

import random
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pytest

from keyfold.aggregates.group_totals import Overflow, extremes, sums

EXACT = Context(prec=100)


def exact(values: list[Decimal]) -> Decimal:
    """The sum; Python's own rounds to 28 digits."""
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, value)
    return total


@pytest.mark.parametrize("digits", [9, 18, 38])
@pytest.mark.parametrize("seed", range(5))
def test_sums_are_exact_below_and_above_zero(digits: int, seed: int) -> None:
    draw, kind = random.Random(seed), pa.decimal128(digits, 2)
    most = 10**digits // 100 - 1
    rows = [
        (
            draw.randrange(7),
            draw.choice([None, Decimal(draw.randint(-most, most)).scaleb(-2, EXACT)]),
        )
        for _ in range(90)
    ]
    groups = np.array([group for group, _ in rows], dtype=np.int32)
    column = pa.array([value for _, value in rows], kind)
    found, least = sums(kind), extremes(True, kind)
    assert found is not None
    found.add(groups, column)
    own = [[v for g, v in rows if g == group and v is not None] for group in range(7)]
    totals = [exact(values) if values else None for values in own]
    assert found.column(0, 7).to_pylist() == totals
    assert any(value < 0 for values in own for value in values)
    if digits <= 18:
        assert least is not None
        least.add(groups, column)
        expected = [min(values) if values else None for values in own]
        assert least.column(0, 7).to_pylist() == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_beyond_its_digits_is_an_overflow(sign: int) -> None:
    kind = pa.decimal128(38, 0)
    found = sums(kind)
    assert found is not None
    found.add(np.zeros(9, dtype=np.int32), pa.array([Decimal(sign * (10**38 - 1))] * 9, kind))
    with pytest.raises(Overflow, match=str(9 * (10**38 - 1))):
        found.column(0, 1)
