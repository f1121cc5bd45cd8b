"""Compaction: the choice of runs of a bucket, their merge, and the result in their place."""
