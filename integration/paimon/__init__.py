"""Paimon's own library and keyfold on the same tables."""
