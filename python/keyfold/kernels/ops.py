"""Row kinds and operations by name: the one place that knows their numbers, for kernels and all
above them (numba takes integers of a module as constants).

A row has a kind, the byte Paimon stores in `_VALUE_KIND`. An engine makes an operation of it, which
says what the row does to the value of one column.
"""

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
KIND_NAMES = ("+I", "-U", "+U", "-D")
# Kinds that add a row, and kinds that take one back; bit 0 of a kind says the same.
ADDITIONS, RETRACTIONS = (INSERT, UPDATE_AFTER), (UPDATE_BEFORE, DELETE)

# What a record does to the accumulator: nothing, add its value, take it back, start again from it,
# come late: it should have been added before everything that is there (`reversal`).
SKIP, ADD, RETRACT, RESET, REVERSED = 0, 1, -1, 2, 3

# Two more events of partial-update's sequence groups: a retraction that is older than what is
# there, which only aggregates see; a retraction that comes first: the row begins with its values
# and then takes them back.
LATE_RETRACT, SEED = -2, 4
