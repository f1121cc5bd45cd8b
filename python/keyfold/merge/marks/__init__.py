"""Marks: the columns that a record names, and those that it replaces."""
