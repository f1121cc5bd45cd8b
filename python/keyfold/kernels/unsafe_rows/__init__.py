"""Arrow columns as bytes of Spark's UnsafeRow, one binary value per row, and back."""
