"""Aggregates and engines that users write: the decorators, the compiled code, and the places where
a cluster finds them.
"""
