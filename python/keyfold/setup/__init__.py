"""Functions a user calls to set a job up: session, archive, doctor."""
