"""Writing: batches in arrival order become sorted, folded data files of a bucket."""
