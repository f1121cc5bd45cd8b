"""ALTER TABLE in a REST catalog: the server applies changes, and we look at what it made of them.

Each schema that the server makes is a file of the table. So an ALTER whose answer was lost is
found there, and so is one that another ALTER came before.
"""

from collections.abc import Sequence

from keyfold.errors import ConflictError, KeyfoldError, TableError
from keyfold.storage.rest.client import MissingError, RestClient, ThereError
from keyfold.storage.schema.alter import Altering, Step
from keyfold.storage.schema.alter_columns import Change
from keyfold.storage.schema.server_changes import is_alike, server_changes
from keyfold.stores.files import UnsettledError


def alter_on_server(
    client: RestClient, path: Sequence[str], altering: Altering, changes: Sequence[Change]
) -> None:
    """Ask the server at the path of the table for all changes. Raises TableError if it refuses
    them, or says that it made them and has made others.
    """
    schemas = altering.schemas
    newest = schemas.latest_id()
    if newest is None:
        raise ConflictError(f"table {schemas.name} was dropped during ALTER TABLE")
    before, took = schemas.read(newest), list[Step]()
    after = altering.changed(before, changes, took)
    if after is before:
        return
    failed = f"ALTER TABLE {schemas.name}"
    try:
        client.ask("POST", *path, body={"changes": server_changes(before, after, took)})
    except (MissingError, ThereError) as error:
        raise TableError(f"{failed}: the table or a column is another by now: {error}") from None
    except UnsettledError as error:
        if not _is_made(altering, changes, newest):
            advice = "whether it took place is not known: DESCRIBE the table before trying again"
            raise UnsettledError(f"{failed}: {error}; {advice}") from None
        return
    if not _is_made(altering, changes, newest):
        raise TableError(
            f"{failed}: the REST catalog's server says that it is done, but made another schema "
            f"of it than expected ({schemas.path(schemas.latest_id() or newest)}): DESCRIBE the "
            "table before it is written"
        )


def _is_made(altering: Altering, changes: Sequence[Change], since: int) -> bool:
    """Whether one of the schemas after `since` is what the changes make of the one before it."""
    for number in sorted(n for n in altering.schemas.ids() if n > since):
        try:
            expected = altering.changed(altering.schemas.read(number - 1), changes)
        except KeyfoldError:  # another ALTER came before ours: then it was not ours
            continue
        if is_alike(expected, altering.schemas.read(number)):
            return True
    return False
