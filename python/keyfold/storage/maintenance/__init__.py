"""What no snapshot needs any more goes: expired snapshots, orphan files."""
