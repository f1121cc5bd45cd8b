"""SQL functions and functions of a user's own."""
