"""The processes that the JVM talks to: a fork server and its workers; the frames between them.

`python -m keyfold.bridge` is the server (server.py). Each connection to its socket becomes a forked
worker that answers `read` and `write`, or goes to the one driver process that answers catalog, plan
and commit questions (`questions`). Frames are length-prefixed JSON (frames.py); rows are Arrow IPC
streams (channel.py).
"""
