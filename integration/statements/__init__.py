"""Statements of SQL and DataFrames on tables."""
