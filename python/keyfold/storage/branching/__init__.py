"""Branches and rollback: other lines of snapshots, and the end of one.

All jobs may run beside these. A tag or branch is written before anybody looks whether what it keeps
is still there, and an expiry or a rollback looks for tags and branches after it said what it
removes. So one of two always sees the other.
"""
