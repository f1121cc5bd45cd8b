"""A table's history, as it is read: its state at a snapshot, a tag or a time."""
