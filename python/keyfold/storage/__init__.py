"""Storage: Paimon tables as folders of files.

It runs on the driver. Workers know a table by its `TableLayout` and never import this package.
Imports go down: branching; catalogs, commits and maintenance, which don't import each other;
history; `table`, which all of them use; schema and `support`; `rest`; metadata.
"""
