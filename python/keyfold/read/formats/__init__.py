"""Data files as record batches of table columns: a module for each format that is read."""
