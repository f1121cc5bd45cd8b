"""Aggregates and engines that users write: the decorators, what they compile to, and where a
cluster finds them.
"""
