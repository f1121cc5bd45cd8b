"""Kernels: numpy and numba over flat buffers. Nothing here knows a table, an engine or an
aggregate.
"""
