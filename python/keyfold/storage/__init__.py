"""Storage: Paimon tables as folders of files.

It runs on the driver. Workers know a table by its `TableLayout` and never import this package.
Imports go down: history; catalogs, commits and maintenance, which don't import each other; `table`,
which all of them use; schema and `support`; `rest_client`; metadata.
"""
