"""Arrow columns as bytes of Spark's UnsafeRow, one binary value a row, and back."""
