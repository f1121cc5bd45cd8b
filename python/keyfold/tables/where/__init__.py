"""Conditions on rows: SQL text and Arrow expressions become predicates; rows are kept exactly."""
