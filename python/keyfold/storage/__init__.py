"""Storage: catalogs, schemas, snapshots, manifests, commits; the only folder importing pypaimon.

It runs on the driver. Workers know a table by its `TableLayout` and never import this package.
"""
