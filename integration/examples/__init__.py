"""The notebooks of examples/, run from beginning to end."""
