"""Questions about aggregate states (driver side). The JVM knows no function by name."""

import json
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.errors import NotSupportedError, TableError
from keyfold.questions.serve import Questions
from keyfold.states.functions import find
from keyfold.states.signature import Signature, bind, constants_of, parse
from keyfold.states.types import VOID
from keyfold.types.logical import DataType
from keyfold.types.spark import from_spark, to_spark

QUESTIONS = Questions()


@QUESTIONS.look
def bind_state(question: Frame) -> dict[str, Any]:
    """The state of a call, by the function's `name`, the `types` of all arguments and the texts of
    the constant ones; or by the `signature` of a column.
    """
    text = question.get("signature")
    if text is not None:
        return _described(parse(text)) | {"constants": ""}
    name, types = question["name"], [_type(kind) for kind in question["types"]]
    found = bind(name, types)
    constants = constants_of(found.function, question["constants"][len(found.types) :])
    return _described(found) | {"constants": "".join(f";{n}={v}" for n, v in constants.items())}


@QUESTIONS.look
def state_function(question: Frame) -> str | None:
    """The name of a function that has states, by any of its names; None if there is not one."""
    found = find(question["name"])
    return None if found is None else found.name


def _described(found: Signature) -> dict[str, Any]:
    function = found.function
    return {
        "name": function.name,
        "signature": found.text,
        "required": list(found.required or (False,) * len(found.types)),
        "arguments": [to_spark(kind) for kind in found.types],
        "fields": [to_spark(kind) for kind in found.fields],
        "kind": function.kind,
        "unites": function.unites,
        "prepares": function.prepares,
        "finishes": function.finishes,
    }


def _type(text: str) -> DataType:
    kind = json.loads(text)
    if kind == "void":
        return VOID
    try:
        return from_spark(kind)
    except NotSupportedError as error:
        raise TableError(f"an aggregate state can't be made of this argument: {error}") from None
