"""Rows of one key or of one value, put together: in sorted rows, and in rows of any order."""
