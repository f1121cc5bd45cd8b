"""A table's history: its state at a snapshot, a tag or a time; tags, branches and rollback.

All jobs may run beside these. A tag or branch is written before anybody looks whether what it keeps
is still there, and an expiry or a rollback looks for tags and branches after it said what it
removes. So one of two always sees the other.
"""
