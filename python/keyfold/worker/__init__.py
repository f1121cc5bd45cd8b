"""The only folder the JVM talks to: a fork server, its workers, one file per kind of question.

`python -m keyfold.worker` is the server (server.py). Each connection to its socket becomes a forked
worker that answers `read` and `write`, or goes to the one driver process that answers catalog, plan
and commit questions. Frames are length-prefixed JSON (wire.py); rows are Arrow IPC (channel.py).
"""
