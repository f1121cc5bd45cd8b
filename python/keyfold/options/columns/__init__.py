"""Options of single columns, and their checks."""
