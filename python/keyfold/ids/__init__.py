"""Ids of keys: the auto-increment column of a table, whose numbers no user writes."""
