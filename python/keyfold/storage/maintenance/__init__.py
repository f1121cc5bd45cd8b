"""Removal of files that no snapshot needs any more: expired snapshots, orphan files."""
