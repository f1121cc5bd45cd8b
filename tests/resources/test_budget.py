"""The memory that a process may still take, beside what it takes and gives back."""

import resource

from keyfold.resources import budget
from tests.concurrency.processes import elsewhere

MIB = 1 << 20


def around_blocks() -> tuple[int, int, int]:
    """In a process with a cap: what is left before blocks of 64 MiB in all are made, beside them,
    and when all but the last one are gone, so that malloc can't give them back.
    """
    cap = budget.taken() + 256 * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (cap, resource.RLIM_INFINITY))
    before = budget.bytes()
    blocks = [bytearray(MIB >> 4) for _ in range(1024)]
    beside = budget.bytes()
    del blocks[:-1]
    return before, beside, budget.bytes()


def test_memory_that_malloc_holds_and_nobody_uses_may_be_taken_again() -> None:
    before, beside, after = elsewhere(around_blocks)
    assert beside < before - 56 * MIB
    assert after > before - 8 * MIB
