"""Merging: rows of one key fold by the table's merge engine. Every engine is a plan over the same
steps: order, group, column results.
"""
