"""Aggregates that queries call, by name: bound to a type, and folding rows in groups."""
