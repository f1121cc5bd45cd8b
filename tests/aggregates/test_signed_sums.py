"""Sums whose rows are added or taken back, row by row, beside the definition."""

import math
from decimal import Context, Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keyfold.aggregates.group_totals import Overflow, Signed, sums
from keyfold.aggregates.sum import definition
from keyfold.kernels.ops import ADD, RETRACT
from tests.random_values import same

EXACT = Context(prec=100)
GROUPS, ROWS = 7, 120
KINDS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.decimal128(9, 2),
    pa.decimal128(38, 2),
]


def drawn(kind: pa.DataType, random: Random) -> Any:
    """A value near an end of the type, or a small one."""
    if random.random() < 0.1:
        return None
    if pa.types.is_floating(kind):
        return random.choice((-0.0, 0.0, 1.5, 1e300, -1e300, math.inf, -math.inf))
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        number = random.choice((most, -most, random.randrange(-9, 9)))
        return Decimal(number).scaleb(-kind.scale, EXACT)
    most = 2 ** (kind.bit_width - 1) - 1
    return random.choice((most, -most - 1, -most, random.randrange(-9, 9)))


def fits(value: Any, kind: pa.DataType) -> bool:
    """Whether the type has room for a sum."""
    try:
        pa.array([value], kind)
    except (OverflowError, pa.ArrowInvalid):
        return False
    return True


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # inf - inf in the definition
def test_signed_sums_are_the_definition(kind: pa.DataType, seed: int) -> None:
    random = Random(seed)
    groups = np.array([random.randrange(GROUPS) for _ in range(ROWS)], dtype=np.int32)
    signs = np.array([random.choice((ADD, ADD, RETRACT)) for _ in range(ROWS)], dtype=np.int8)
    values = [drawn(kind, random) for _ in range(ROWS)]
    found = sums(kind)
    assert isinstance(found, Signed)
    for start in (0, ROWS // 2):  # two batches
        part = slice(start, start + ROWS // 2)
        found.add_signed(groups[part], signs[part], pa.array(values[part], kind))
    for group in range(GROUPS):
        records = [
            (int(sign), value)
            for own, sign, value in zip(groups, signs, values, strict=True)
            if own == group
        ]
        expected = definition(records)
        if fits(expected, kind):
            assert same(found.column(group, group + 1).to_pylist()[0], expected)
        else:
            with pytest.raises(Overflow) as caught:
                found.column(group, group + 1)
            assert Decimal(str(caught.value)) == expected
