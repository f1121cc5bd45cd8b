"""Keys: the words by which they are compared, their order, their bucket, and their search."""
