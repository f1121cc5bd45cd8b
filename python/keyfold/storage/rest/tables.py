"""The requests to a REST server about one table: snapshots, tags, branches, rollback.

The server changes the files of the table, where we read its snapshots, tags and branches.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfold.errors import ConflictError, TableError
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.rest.client import MissingError, RestClient, ThereError, client, is_rest
from keyfold.stores.files import UnsettledError
from keyfold.wire.layout import sql_name


@dataclass(frozen=True)
class TableServer:
    """The server of a REST catalog as it is asked about one table, or a branch of it."""

    options: Mapping[str, str] = field(repr=False)
    namespace: str
    name: str
    uuid: str

    @property
    def _client(self) -> RestClient:
        return client(self.options)

    def publish(self, snapshot: Snapshot) -> bool:
        """Publish a snapshot; False if another came first. Raises UnsettledError if the outcome is
        not known, ConflictError if the table is gone.
        """
        try:
            return self._client.commit(self.namespace, self.name, self.uuid, snapshot)
        except (MissingError, ThereError):
            raise ConflictError(
                f"table {sql_name(self.namespace, self.name)} was dropped or renamed since the "
                "query was planned: run it again"
            ) from None

    def make_tag(
        self, name: str, snapshot_id: int, seconds: float | None, is_made: Callable[[], bool]
    ) -> bool:
        """Tag a snapshot, to be kept for that time. False if there is such a tag."""
        kept = None if seconds is None else f"{round(seconds * 1000)} ms"
        body = {"tagName": name, "snapshotId": snapshot_id, "timeRetained": kept}
        return self._made(f"tag '{name}'", is_made, "tags", body=body)

    def delete_tag(self, name: str) -> bool:
        """Delete a tag, and the files that it alone held; False if there is no such tag."""
        try:
            self._ask("DELETE", "tags", name)
        except MissingError:
            return False
        return True

    def make_branch(self, name: str, tag: str | None, is_made: Callable[[], bool]) -> bool:
        """Make a branch of a tag, or an empty one. False if there is such a branch."""
        body = {"branch": name, "fromTag": tag}
        return self._made(f"branch '{name}'", is_made, "branches", body=body)

    def delete_branch(self, name: str) -> None:
        """Delete a branch, and the files that it alone held."""
        self._done(f"branch '{name}' can't be deleted", "DELETE", "branches", name)

    def rename_branch(self, name: str, to: str, is_made: Callable[[], bool]) -> bool:
        """Give a branch another name. False if there is a branch of that name."""
        body = {"toBranch": to}
        return self._made(f"branch '{to}'", is_made, "branches", name, "rename", body=body)

    def forward(self, branch: str, is_done: Callable[[], bool]) -> None:
        """Make the table what a branch of it is."""
        words = f"it can't be moved on to branch '{branch}'"
        self._done(words, "POST", "branches", branch, "forward", body={}, is_done=is_done)

    def roll_back(self, snapshot_id: int, tag: str, is_done: Callable[[], bool]) -> None:
        """Make a snapshot the newest; `tag` is what keeps it if it has expired."""
        by_id = {"type": "snapshot", "snapshotId": snapshot_id}
        body = {"instant": {"type": "tag", "tagName": tag} if tag else by_id}
        words = f"it can't go back to snapshot {snapshot_id}"
        self._done(words, "POST", "rollback", body=body, is_done=is_done)

    def _ask(self, method: str, *path: str, body: dict[str, Any] | None = None) -> None:
        self._client.ask(method, "databases", self.namespace, "tables", self.name, *path, body=body)

    def _made(
        self, what: str, is_made: Callable[[], bool], *path: str, body: dict[str, Any]
    ) -> bool:
        try:
            self._done(f"{what} can't be made", "POST", *path, body=body, is_done=is_made)
        except ThereError:
            return False
        return True

    def _done(
        self,
        failed: str,
        method: str,
        *path: str,
        body: dict[str, Any] | None = None,
        is_done: Callable[[], bool] = lambda: False,
    ) -> None:
        """Ask for a change. If the answer is lost, `is_done` tells whether it was made."""
        named = f"table {sql_name(self.namespace, self.name)}: {failed}"
        try:
            self._ask(method, *path, body=body)
        except MissingError as error:
            raise TableError(f"{named}, says its REST catalog: {error}") from None
        except UnsettledError as error:
            if not is_done():
                advice = "whether it took place is not known: look before trying again"
                raise UnsettledError(f"{named}: {error}; {advice}") from None


def server_of(
    options: Mapping[str, str], namespace: str, name: str, uuid: str
) -> TableServer | None:
    """The server of a table of a catalog; None if that is no REST catalog, or the table is named by
    its path.
    """
    return TableServer(options, namespace, name, uuid) if is_rest(options) and namespace else None
