"""Moments of parts, put together, against those of all numbers at once."""

import numpy as np
import numpy.typing as npt
import pytest

from keyfold.kernels.folds.moments import Table, merge_moments, merge_pairs, merged

Numbers = npt.NDArray[np.float64]


def moments(x: Numbers, fields: int) -> list[float]:
    """n, the mean, and the sums of powers of the distances from it."""
    mean = float(x.mean()) if len(x) else 0.0
    return [len(x), mean, *(float(((x - mean) ** power).sum()) for power in (2, 3, 4))][:fields]


def pairs(x: Numbers, y: Numbers, fields: int) -> list[float]:
    """n, both means, the sum of products of the distances from them, and both sums of squares."""
    (n, mean_x, square_x), (_, mean_y, square_y) = moments(x, 3), moments(y, 3)
    products = float(((x - mean_x) * (y - mean_y)).sum())
    return [n, mean_x, mean_y, products, square_x, square_y][:fields]


def parts(seed: int) -> tuple[npt.NDArray[np.int64], list[list[Numbers]]]:
    """Where the parts of five groups begin, and parts of two columns, some of them empty."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 6, 5)
    sizes = [draw.integers(0, 9, count) for count in counts]
    found = [[draw.normal(3, 50, (2, size)) ** 3 / 99 for size in of] for of in sizes]
    return np.concatenate(([0], np.cumsum(counts))), found


@pytest.mark.parametrize("fields", [3, 4, 5])
def test_moments(seed: int, fields: int) -> None:
    starts, found = parts(seed)
    rows: Table = np.array([moments(part[0], fields) for of in found for part in of])
    wanted = [moments(np.concatenate([part[0] for part in of]), fields) for of in found]
    assert merged(merge_moments, rows, starts) == pytest.approx(np.array(wanted), rel=1e-9)


@pytest.mark.parametrize("fields", [4, 6])
def test_pairs(seed: int, fields: int) -> None:
    starts, found = parts(seed)
    rows: Table = np.array([pairs(*part, fields) for of in found for part in of])
    wanted = [pairs(*np.concatenate(of, axis=1), fields) for of in found]
    assert merged(merge_pairs, rows, starts) == pytest.approx(np.array(wanted), rel=1e-9)
