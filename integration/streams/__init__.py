"""Streaming queries that write and read tables."""
