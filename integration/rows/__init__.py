"""Statements that change rows: DELETE, UPDATE and MERGE."""
