"""Statements about one partition ask a store as often in a large table as in a small one."""

import pytest

from integration.bench import store_requests

LARGE, SMALL, MORE = 2_000, 100, 15  # of 20 partitions and of one


@pytest.fixture(scope="module")
def requests() -> dict[str, list[list[int]]]:
    """By statement: the requests of its first call and its next, in both tables."""
    found: dict[str, list[list[int]]] = {}
    for files in (SMALL, LARGE):
        for name, *calls in store_requests.measured(files, delay=0.0):
            counts = [
                sum(one[kind] for kind in store_requests.KINDS if kind in one) for one in calls
            ]
            found.setdefault(name, []).append(counts)
    return found


@pytest.mark.parametrize("name", store_requests.statements(None))
def test_requests(requests: dict[str, list[list[int]]], name: str) -> None:
    small, large = requests[name]
    assert small[1] <= small[0] + MORE or name.startswith(("`UPDATE", "full", "expiry"))
    for few, many in zip(small, large, strict=True):
        assert few > 0
        assert many <= few + MORE, (small, large)
