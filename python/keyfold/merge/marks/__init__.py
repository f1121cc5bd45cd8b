"""Marks: which columns a record names, which it replaces."""
