"""Spark's declarative pipelines that write tables of keyfold."""
