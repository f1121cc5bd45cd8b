"""The question `plan_lookup` (driver side), asked once for each join with a table by its key."""

from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.lookup.plan import plan_lookup as planned
from keyfold.merge.plan import plan
from keyfold.questions.serve import Questions, functions_for
from keyfold.storage.table import open_handle
from keyfold.wire.predicates import decoded

QUESTIONS = Questions()


@QUESTIONS.look
def plan_lookup(question: Frame) -> dict[str, Any]:
    """What tasks need to look keys up, and the snapshot that they look into."""
    table = open_handle(question["table"], question["catalog"]["options"])
    table.check_readable()
    found = planned(table, question["columns"], decoded(question.get("filters")))
    plan(found.scan.layout, found.scan.columns)  # refuses here what this session lacks
    return {
        "lookup": found.to_json() | functions_for(question, found.scan.layout),
        "snapshot": table.snapshot_id,
    }
