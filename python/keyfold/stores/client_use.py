"""Clients of stores and processes that are forked: the threads that all clients share stay with the
parent, and the calls of a child would wait for ever.
"""

import os

from keyfold.errors import EnvironmentMismatchError


class ClientUse:
    """This process: whether it has used a client, and whether one that had was forked to it."""

    has_clients = False
    is_lost = False

    def forked(self) -> None:
        """Remember that this process is a child."""
        self.is_lost = self.has_clients

    def check(self, root: str) -> None:
        """Raises EnvironmentMismatchError if no client works here."""
        if self.is_lost:
            raise EnvironmentMismatchError(
                f"{root} can't be reached from this process, which was forked from one that has "
                "used an object store or HDFS: start processes with 'spawn' "
                "(multiprocessing.get_context) or 'forkserver'"
            )


PROCESS = ClientUse()
os.register_at_fork(after_in_child=PROCESS.forked)
