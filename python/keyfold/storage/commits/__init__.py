"""A job's files become one snapshot, unless what others committed meanwhile forbids it."""
