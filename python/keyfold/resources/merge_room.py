"""The memory of one merge, divided among the open runs and the rows of one round."""

from dataclasses import dataclass

from keyfold.resources import budget

_MOST_ROUND = 24 << 20
_LEAST = 1 << 20


@dataclass(frozen=True)
class MergeRoom:
    """The bytes that open runs may hold beside their batches, and bytes of the rows of one round.

    A round's rows are held up to ten times over: decoded and waiting (twice), as one array per
    column and in order, as results that wait to be sent (four batches). A sixth of the memory stays
    free, for estimates that are wrong.
    """

    readers: int
    round: int

    @staticmethod
    def now() -> "MergeRoom":
        """The memory this process may use for a merge that begins now."""
        free = budget.bytes()
        most = min(_MOST_ROUND, free // 20)
        return MergeRoom(max(free // 3, _LEAST), max(most, _LEAST))
