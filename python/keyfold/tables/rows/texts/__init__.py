"""Texts and values of JSON as values of a column's type: what files of texts are read by.

The rules are those of Spark's CAST of a text in its ANSI mode, in UTC. A text that CAST would take
and change (digits cut off, a time of day left out) is refused.
"""
