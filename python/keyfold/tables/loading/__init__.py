"""Files that the command line writes into tables: Parquet and Arrow, whose values have types, and
CSV and JSON lines, whose texts become values of the table's types. Nothing is guessed, and a file
may be larger than memory.
"""
