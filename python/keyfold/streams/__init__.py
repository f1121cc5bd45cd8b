"""Streams that read a table: where they are in its history, and how far a batch goes (driver
side).
"""
