"""Scans that fold: the functions of a query over the rows of a split, merged or not."""
