"""The questions of tasks: rows and files, in the workers of executors."""
