"""Kernels: numpy and numba over flat buffers; nothing here knows a table, an engine or an
aggregate.
"""
