"""A data file on disk or in an object store: its name, its footer, its columns, its bytes."""
