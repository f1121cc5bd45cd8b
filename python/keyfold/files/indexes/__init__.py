"""Indexes of data files: what says without opening a file that it has none of some values."""
