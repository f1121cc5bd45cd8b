"""Questions about aggregate states (driver side). The JVM knows no function by name."""

import json
from typing import Any

from keyfold.aggregates import aggregates, spelling
from keyfold.aggregates.binding import named, options_of
from keyfold.aggregates.state_signatures import bind, find, fold_options, fold_signature, parse
from keyfold.authored.sources import Sources
from keyfold.bridge.frames import Frame
from keyfold.errors import NotSupportedError, TableError
from keyfold.queries.bound import BoundCall
from keyfold.questions.serve import CODE, Questions
from keyfold.states.signature import Signature, constants_of
from keyfold.states.types import VOID
from keyfold.types.logical import DataType
from keyfold.types.spark import from_spark, to_spark

QUESTIONS = Questions()


@QUESTIONS.look
def bind_state(question: Frame) -> dict[str, Any]:
    """The state of a call, by the function's `name`, the `types` of all arguments, the texts of
    the constant ones and of those that are `named`; or by the `signature` of a column.
    """
    text, sources = question.get("signature"), Sources.from_json(question.get(CODE))
    if text is not None:
        return _described(parse(text), sources) | {"constants": ""}
    name, types = question["name"], [_type(kind) for kind in question["types"]]
    given, function = question["constants"], find(question["name"])
    if function is not None and function.kind == "fold":
        found = _fold(name, question, types)
        return _described(found, sources) | {"constants": ""}
    if question["named"]:
        raise TableError(
            f"{name}_state has no named arguments, found {', '.join(question['named'])}"
        )
    found = bind(name, types)
    constants = constants_of(found.function, given[len(found.types) :])
    shown = "".join(f";{n}={v}" for n, v in constants.items())
    return _described(found, sources) | {"constants": shown}


def _fold(name: str, question: Frame, types: list[DataType]) -> Signature:
    """The signature of a call of a fold: one column, then options."""
    given = question["constants"]
    for place, (kind, text) in enumerate(zip(types[1:], given[1:], strict=True), 2):
        if text is None and kind != VOID:
            raise TableError(f"{name}_state: argument {place} is an option, which is a constant")
    where = f"{name}_state"
    options = options_of(where, named(where, name), question["named"], given[1:])
    return fold_signature(name, types[:1], options)


@QUESTIONS.look
def state_function(question: Frame) -> str | None:
    """The name of a function that has states, by any of its names; None if there is not one."""
    found = find(question["name"])
    return None if found is None else found.name


def _described(found: Signature, sources: Sources) -> dict[str, Any]:
    function = found.function
    fold = _fold_json(found, sources) if function.kind == "fold" else {}
    return fold | {
        "name": function.name,
        "signature": found.text,
        "options": dict(found.options),
        "required": list(found.required or (False,) * len(found.types)),
        "arguments": [to_spark(kind) for kind in found.types],
        "fields": [to_spark(kind) for kind in found.fields],
        "kind": function.kind,
        "unites": function.unites,
        "prepares": function.prepares,
        "finishes": function.finishes,
    }


def _fold_json(found: Signature, sources: Sources) -> dict[str, Any]:
    """What the tasks that fold need, and the SQL of the result of nothing if that is not NULL."""
    name = found.function.name
    code = None if spelling(name) in aggregates() else sources.for_options({"": name})
    call = BoundCall(name, found.fields[0], fold_options(found), code)
    return {"fold": call.to_json(), "empty": call.aggregate.of_nothing}


def _type(text: str) -> DataType:
    kind = json.loads(text)
    if kind == "void":
        return VOID
    try:
        return from_spark(kind)
    except NotSupportedError as error:
        raise TableError(f"an aggregate state can't be made of this argument: {error}") from None
