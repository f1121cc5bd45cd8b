"""Compaction: which runs of a bucket to merge, the merge, and putting the result in their place."""
