"""The resources of a process: its memory, private folders, and figures of their use."""
