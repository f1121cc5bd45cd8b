"""The look-ups of tasks, as they travel with a join or with the job of a write."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from keyfold.lazy import cached_property
from keyfold.lookup.key_places import LookupPlan, LookupRequest
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout


class Plans(Protocol):
    """The plans by which keys are looked up."""

    def of(self, keys: pa.RecordBatch) -> LookupPlan:
        """The plan for keys."""


@dataclass(frozen=True)
class PlannedLookups(Wire):
    """The plan that the driver has made for all keys or, without one, its request for plans, which
    each task makes for its own keys.
    """

    plan: LookupPlan | None = None
    request: LookupRequest | None = None

    @property
    def layout(self) -> TableLayout:
        """The table."""
        if self.request is not None:
            return self.request.layout
        assert self.plan is not None
        return self.plan.scan.layout

    def of(self, keys: pa.RecordBatch) -> LookupPlan:
        """The plan for keys, or for prefixes of keys that tell their bucket."""
        return self._own.of(keys) if self.plan is None else self.plan

    @cached_property
    def _own(self) -> Plans:
        """The plans of this process. What making them takes is not loaded otherwise."""
        of_keys = importlib.import_module("keyfold.lookup.of_keys")
        found: Plans = of_keys.PlansOfKeys(self.request)
        return found


@dataclass(frozen=True)
class TaskLookups(Wire):
    """The look-ups of the tasks of a write: of the rows before a statement (`before`), and of
    stored keys; None if the write needs none, or the table is empty.
    """

    before: PlannedLookups | None = None
    keys: PlannedLookups | None = None


NONE = TaskLookups()
CARRIED = "lookups"  # what the write of a job carries: its TaskLookups
