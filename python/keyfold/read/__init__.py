"""Reading: the files that a scan needs, and the batches of one split."""
