"""The content of a table in Paimon's format: snapshots, manifests, their entries and rows."""
