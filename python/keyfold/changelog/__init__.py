"""Changes of a table: what differs between two snapshots, by key."""
