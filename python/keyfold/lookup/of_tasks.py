"""The look-ups that the tasks of a write need, as they travel with the job."""

from __future__ import annotations

from dataclasses import dataclass

from keyfold.lookup.places import LookupPlan
from keyfold.wire.codec import Wire


@dataclass(frozen=True)
class TaskLookups(Wire):
    """The plans by which the tasks of a write look up: the rows before a statement (`rows_before`),
    and stored keys; None if the write needs none, or the table is empty.
    """

    before: LookupPlan | None = None
    keys: LookupPlan | None = None


NONE = TaskLookups()
CARRIED = "lookups"  # what the write of a job carries: its TaskLookups
