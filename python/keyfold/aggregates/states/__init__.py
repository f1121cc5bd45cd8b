"""States of aggregates as values: their signatures, their fields, and how these merge."""
