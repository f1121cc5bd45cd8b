"""Indexes of files, as far as scans use them."""
