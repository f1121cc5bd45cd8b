"""Row kinds and operations by name. Only this module knows their numbers, for kernels and for all
that use them (numba takes integers of a module as constants).

A row has a kind, the byte that Paimon stores in `_VALUE_KIND`. An engine makes an operation of it:
the effect of the row on the value of one column.
"""

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
KIND_NAMES = ("+I", "-U", "+U", "-D")
# Kinds that add a row, and kinds that take one back. Bit 0 of a kind tells them apart.
ADDITIONS, RETRACTIONS = (INSERT, UPDATE_AFTER), (UPDATE_BEFORE, DELETE)

# The effect of a record on the accumulator: nothing, add its value, take it back, start again from
# it, come late. A late value should have been added before all that is there (`reversal`).
SKIP, ADD, RETRACT, RESET, REVERSED = 0, 1, -1, 2, 3

# Two more events of partial-update's sequence groups. A retraction may be older than the value that
# is there: only aggregates see that one. A retraction may come first: the row then begins with its
# values and takes them back.
LATE_RETRACT, SEED = -2, 4
