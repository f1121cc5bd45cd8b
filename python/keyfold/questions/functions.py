"""Questions about the aggregates that queries may call: their list, and one call's types."""

import json
from typing import Any

from keyfold.aggregates import find
from keyfold.aggregates.binding import short_name
from keyfold.aggregates.declare import Aggregate
from keyfold.authored.sources import Sources
from keyfold.bridge import frames
from keyfold.options import provided
from keyfold.queries.bound import bind, functions
from keyfold.questions.serve import CODE, Questions
from keyfold.types.spark import to_spark

QUESTIONS = Questions()


@QUESTIONS.look
def aggregate_functions(question: frames.Frame) -> dict[str, Any]:
    """Every aggregate, the session's own ones too, with its options as arguments."""
    theirs = [found for name in provided.names("aggregates") if (found := find(name)) is not None]
    return {"functions": [_described(one) for one in [*functions(), *theirs]]}


@QUESTIONS.look
def bind_aggregate(question: frames.Frame) -> dict[str, Any]:
    """One call: what its tasks need, the types of argument and result (Spark's JSON as text),
    `empty`, the SQL text of the result of no rows if that is not NULL, and `in_scans`, whether a
    fold of folds of some rows each is the fold of all, NULL of no rows included.
    """
    call = bind(
        question["name"],
        question["types"],
        question.get("options") or {},
        question.get("positional") or (),
        Sources.from_json(question.get(CODE)),
    )
    takes_any = call.aggregate.result_of_any is not None
    in_scans = call.aggregate.passes_nulls and call.aggregate.normalize is None
    kind = json.dumps(to_spark(call.type))
    return {
        "fold": call.to_json(),
        "name": call.name,
        "result": kind,
        "argument": question["types"][0] if takes_any else kind,
        "empty": call.aggregate.of_nothing,
        "signature": call.signature,
        "in_scans": in_scans,
    }


def _described(one: Aggregate) -> dict[str, Any]:
    parameters = [
        {"name": short_name(p), "option": p.name, "default": p.default, "doc": p.doc}
        for p in one.parameters
    ]
    return {
        "name": one.name,
        "aliases": list(one.aliases),
        "accepts": one.accepts.words,
        "parameters": parameters,
        "summary": one.summary,
        "nulls": one.nulls,
    }
