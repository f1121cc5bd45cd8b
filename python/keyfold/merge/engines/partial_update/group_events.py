"""The events of sequence groups of partial-update: the effect of each record on each group.

Events are the operations of aggregates, LATE_RETRACT and SEED (`keyfold.kernels.ops`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Rows, Signs, Words
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import (
    ADD,
    DELETE,
    INSERT,
    LATE_RETRACT,
    RESET,
    RETRACT,
    RETRACTIONS,
    REVERSED,
    SEED,
    SKIP,
)

# Flags: a row has a sequence in a group, and it begins the group's sequence anew. It does that if
# it overwrites the sequence fields: from there on records are compared with that row alone.
HAS_SEQUENCE, RESTARTS = 1, 2
# The relation of a row to the newest one of a group before it.
UNRELATED, NEWER, OLDER = 0, 1, -1

Masks = npt.NDArray[np.uint8]
Events = npt.NDArray[np.int8]


@structure("uint64[:, ::1]", "uint8[:, ::1]", "int64[:, ::1]", "int64[::1]")
class Sequences(NamedTuple):
    """The sequence groups of some rows: words[:, row] compare like their fields, present[s, row]
    has the flags above, spans[s] = (first word, end of words, a -D removes the row), and newest
    has room for the newest row of each.
    """

    words: Words
    present: Masks
    spans: Rows
    newest: Rows


@kernel("boolean(uint64[:, ::1], int64, int64, int64, int64)")
def is_older(words: Words, first: int, stop: int, row: int, stored: int) -> bool:
    """Whether words[first:stop] of one row are less than those of another."""
    for i in range(first, stop):
        if words[i, row] != words[i, stored]:
            return bool(words[i, row] < words[i, stored])
    return False


# The next two have no branch that depends on data: 2 ns per row, not 6, on random groups.


@kernel("void(uint8[::1], int64[::1], int64[::1], int64[::1])")
def last_present(present: Mask, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the last row of group g that is present, else -1."""
    g, pick = 0, np.int64(-1)
    for at in range(len(order)):
        row, is_next = order[at], at == starts[g + 1]
        g += is_next
        pick = np.int64(-1) if is_next else pick
        pick = row if present[row] else pick
        out[g] = pick


@kernel("void(uint64[::1], uint8[::1], int64[::1], int64[::1], int64[::1])")
def newest_word(words: Words, present: Mask, order: Rows, starts: Rows, out: Rows) -> None:
    """`newest` if the sequence is one word; rows without a sequence have the word 0."""
    g, pick, greatest = 0, np.int64(-1), np.uint64(0)
    for at in range(len(order)):
        row, is_next = order[at], at == starts[g + 1]
        word = words[row]
        g += is_next
        greatest = np.uint64(0) if is_next else greatest
        pick = np.int64(-1) if is_next else pick
        is_alone = starts[g + 1] - starts[g] == 1
        is_newer = ((present[row] != 0) & (word >= greatest)) | is_alone
        pick = row if is_newer else pick
        greatest = word if is_newer else greatest
        out[g] = pick


@kernel("void(uint64[:, ::1], uint8[::1], int64, int64, int64[::1], int64[::1], int64[::1])")
def newest(
    words: Words, present: Mask, first: int, stop: int, order: Rows, starts: Rows, out: Rows
) -> None:
    """out[g] is the last of the rows of group g with the greatest words, -1 if no row has a
    sequence. A lone row is the newest in any case.
    """
    for g in range(len(out)):
        pick = -1
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if present[row] and (pick < 0 or not is_older(words, first, stop, row, pick)):
                pick = row
        out[g] = order[starts[g]] if starts[g + 1] - starts[g] == 1 else pick


@kernel("void(uint64[:, ::1], uint8[::1], int64, int64, int64[::1], int64[::1], int8[::1])")
def decide_adds(
    words: Words, present: Mask, first: int, stop: int, order: Rows, starts: Rows, out: Signs
) -> None:
    """`decide` for one group, if no record is a retraction."""
    for g in range(len(starts) - 1):
        stored = -1
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if not present[row]:
                out[at] = SKIP
            elif stored >= 0 and is_older(words, first, stop, row, stored):
                out[at] = REVERSED
            else:
                out[at], stored = ADD, row
        if starts[g + 1] - starts[g] == 1:
            out[starts[g]] = ADD


@kernel
def relate(sequences: Sequences, row: int, at: int, out: Events) -> int:
    """Write into out[s, at] whether a row is NEWER (or as new), OLDER or without a sequence in each
    group. Returns the number of groups by which it would remove the row.
    """
    words, present, spans, newest = sequences
    removals = 0
    for s in range(len(spans)):
        out[s, at] = UNRELATED
        if present[s, row] & HAS_SEQUENCE:
            first, stop, is_removing = spans[s]
            is_compared = newest[s] >= 0 and not present[s, row] & RESTARTS
            is_late = is_compared and is_older(words, first, stop, row, newest[s])
            out[s, at] = OLDER if is_late else NEWER
            removals += is_removing and not is_late
    return removals


@kernel("void(Sequences, Groups, boolean, int8[:, ::1], int8[::1])")
def decide(
    sequences: Sequences, records: Groups, is_part: bool, out: Events, out_kinds: Signs
) -> None:
    """Write the event of each record, of a kind, for each group, and in the last row of `out` for
    the columns outside groups. A record that is alone is added, even a retraction. If older ones
    are elsewhere (`is_part`), a row does not begin with a retraction; only retractions stay one.
    """
    (kinds, order, starts), (_, present, _, newest) = records, sequences
    for g in range(len(starts) - 1):
        is_met, is_removed, start, stop = False, False, starts[g], starts[g + 1]
        if stop - start == 1:
            out[:, start] = ADD
            out_kinds[g] = kinds[order[start]]
            continue
        newest[:] = -1
        for at in range(start, stop):
            row, is_retract = order[at], kinds[order[at]] in RETRACTIONS
            removals = relate(sequences, row, at, out)
            is_removed = kinds[row] == DELETE and removals > 0
            is_fresh = is_removed or (at == start and is_retract and not is_part)
            out[len(newest), at] = RESET if is_fresh else SKIP if is_retract else ADD
            for s in range(len(newest)):
                if is_fresh or out[s, at] == NEWER or present[s, row] & RESTARTS:
                    newest[s] = row if present[s, row] & HAS_SEQUENCE else -1
                out[s, at] = event(out[s, at], is_retract, is_fresh, is_removed)
            is_met = is_met or not is_retract or (is_part and is_removed)
        out_kinds[g] = DELETE if is_removed or not is_met else INSERT
        if is_part and not is_met:
            out_kinds[g] = united(kinds[order[stop - 1]], start, stop, out)


@kernel
def united(kind: int, start: int, stop: int, out: Events) -> int:
    """The kind of what retractions become, whose events are changed to this: one retraction, with
    the first one's values outside groups and in those of which no record has a sequence.
    """
    for s in range(len(out)):
        is_skipped = True
        for at in range(start, stop):
            if out[s, at] == RETRACT:
                out[s, at] = ADD
            elif out[s, at] == LATE_RETRACT:
                out[s, at] = REVERSED
            is_skipped = is_skipped and out[s, at] == SKIP
        if is_skipped:
            out[s, start] = RESET
    return kind


@kernel
def event(relation: int, is_retract: bool, is_fresh: bool, is_removed: bool) -> int:
    """The event of a record for one group. If `is_fresh`, the row begins anew with its values."""
    if is_fresh:
        return SEED if relation == NEWER and not is_removed else RESET
    if relation == UNRELATED:
        return SKIP
    if is_retract:
        return RETRACT if relation == NEWER else LATE_RETRACT
    return ADD if relation == NEWER else REVERSED


@kernel("void(int8[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def settle(events: Signs, order: Rows, starts: Rows, sequence: Rows, protected: Rows) -> None:
    """Write the row that each sequence field of a group comes from, and each column that is not an
    aggregate. -1 is null: a retraction leaves the sequence and clears the other columns.
    """
    for g in range(len(sequence)):
        sequence[g], protected[g] = -1, -1
        for at in range(starts[g + 1] - 1, starts[g] - 1, -1):
            what = events[at]
            if what in (ADD, RESET, RETRACT, SEED):
                sequence[g] = order[at]
                protected[g] = order[at] if what in (ADD, RESET) else -1
                break


@kernel("void(Groups, boolean, Groups)")
def arrange(groups: Groups, is_front: bool, out: Groups) -> None:
    """Write events as operations that an aggregate takes. A seed comes twice, reset and retracted.
    With `is_front` older records come before all others since the last reset.
    """
    (events, _, starts), (_, _, out_starts) = groups, out
    w, out_starts[0] = 0, 0
    for g in range(len(starts) - 1):
        first = starts[g]
        while first < starts[g + 1]:
            stop, late = first + 1, int(is_front and events[first] == REVERSED)
            while stop < starts[g + 1] and events[stop] != RESET and events[stop] != SEED:
                late += is_front and events[stop] == REVERSED
                stop += 1
            w = place(groups, first, stop, late, w, out)
            first = stop
        out_starts[g + 1] = w


@kernel
def place(groups: Groups, first: int, stop: int, late: int, w: int, out: Groups) -> int:
    """Write records first:stop, between two resets, from place w on, the `late` older ones first.
    Returns the place behind them.
    """
    (events, order, _), (out_ops, out_order, _) = groups, out
    front, begin = w + late - 1, w
    w += late
    for at in range(first, stop):
        what = events[at]
        if late and what == REVERSED:
            out_order[front], out_ops[front] = order[at], ADD
            front -= 1
            continue
        out_order[w], out_ops[w] = order[at], what
        if what == LATE_RETRACT:
            out_ops[w] = RETRACT
        elif what in (RESET, SEED):
            out_ops[w] = ADD if late else RESET
        w += 1
        if what == SEED:
            out_order[w], out_ops[w] = order[at], RETRACT
            w += 1
    if late and (events[first] == RESET or events[first] == SEED):
        out_ops[begin] = RESET
    return w
