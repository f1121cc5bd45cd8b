"""The partial-update engine: column groups with a sequence of their own."""
