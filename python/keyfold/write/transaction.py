"""The epoch that a write job commits: one of a streaming query, or one that its options name."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.errors import TableError
from keyfold.options.calls import ACCEPT_LOST, TRANSACTION_APP, TRANSACTION_VERSION, value
from keyfold.options.values import boolean, whole
from keyfold.wire.specs import Epoch


def epoch_of(table: str, asked: Mapping[str, str], query: str | None) -> Epoch | None:
    """The epoch of a job with the options `asked`, or of the streaming query `query`, whose number
    is known at the commit. None if neither names one. Raises TableError if the options are wrong.
    """
    given = [name for name in (TRANSACTION_APP, TRANSACTION_VERSION) if asked.get(name)]
    if given and query is not None:
        raise TableError(
            f"streaming into table {table}: option {given[0]} is for batches; a streaming query is "
            "known by its own id"
        )
    if len(given) == 1:
        raise TableError(
            f"writing table {table}: options {TRANSACTION_APP} and {TRANSACTION_VERSION} go "
            f"together, found {given[0]} = {asked[given[0]]} alone"
        )
    doing = f"writing table {table}"
    number = value(doing, asked, TRANSACTION_VERSION, whole(0, 2**63 - 1))
    accepts = value(doing, asked, ACCEPT_LOST, boolean)
    stream = query or asked.get(TRANSACTION_APP)
    return Epoch(stream, number or 0, bool(accepts)) if stream else None
