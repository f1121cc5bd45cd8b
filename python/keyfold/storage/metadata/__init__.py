"""What a table holds, in Paimon's format: snapshots, manifests, their entries and rows."""
