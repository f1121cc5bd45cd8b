"""Hive's Metastore: its protocol, what it is asked, and a table as it has it."""
