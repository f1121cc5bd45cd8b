"""Kernels that fold the values of a group: the row that stays, a sum, a list, a text, a set."""
