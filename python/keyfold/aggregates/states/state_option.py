"""The option of a table that names the states of a column."""

STATE = "agg-state"
