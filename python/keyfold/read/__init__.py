"""Reading: which files a scan needs, and the batches of one split."""
