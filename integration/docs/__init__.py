"""The documentation's blocks and tables."""
