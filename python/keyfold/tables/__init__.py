"""Tables from Python without Spark: `keyfold.connect` and what it gives. The door beside
`questions`, which is Spark's: both plan, read, write and commit by the same rooms below.
"""
