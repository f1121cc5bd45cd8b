"""Rows that have no buckets yet, as scans merge them (`postpone.merge-on-read`)."""
