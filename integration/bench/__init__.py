"""`make bench`: keyfold against plain Spark Parquet on the same data, in one run."""
