"""Several calls of one table in one commit."""
