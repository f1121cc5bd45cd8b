"""Shipped for authors of aggregates and engines: slow definitions, rows as text, random values."""
