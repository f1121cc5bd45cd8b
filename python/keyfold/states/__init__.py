"""Aggregate states: the bytes of an aggregate before its result, which can be kept and merged.

`functions` lists the aggregates of Spark that have them. A column of states has one signature.
"""
