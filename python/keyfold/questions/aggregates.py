"""Questions about the aggregates that queries may call: their list, one call's types, and the
states of aggregates. The JVM knows no function by name.
"""

import json
from typing import Any

from keyfold.aggregates import aggregates, find, spelling
from keyfold.aggregates.binding import named, options_of, short_name
from keyfold.aggregates.declaration import Aggregate
from keyfold.aggregates.states import bound_signatures
from keyfold.aggregates.states.signature import Signature, constants_of
from keyfold.aggregates.states.spark_types import VOID
from keyfold.bridge.frames import Frame
from keyfold.errors import NotSupportedError, TableError
from keyfold.group_by.bound import BoundCall, bind, functions
from keyfold.group_by.folds import folding
from keyfold.group_by.set_functions import SET_FUNCTIONS
from keyfold.group_by.stated import StateCall
from keyfold.options import provided
from keyfold.questions.serve import CODE, Questions
from keyfold.types.logical import DataType
from keyfold.types.spark import from_spark, to_spark
from keyfold.user_functions.sources import Sources

QUESTIONS = Questions()


@QUESTIONS.look
def aggregate_functions(question: Frame) -> dict[str, Any]:
    """Every aggregate, the session's own ones too: its names and the lines of DESCRIBE FUNCTION."""
    theirs = [found for name in provided.names("aggregates") if (found := find(name)) is not None]
    of_sets = [one.described() for one in dict.fromkeys(SET_FUNCTIONS.values())]
    return {"functions": [*(_described(one) for one in [*functions(), *theirs]), *of_sets]}


@QUESTIONS.look
def bind_aggregate(question: Frame) -> dict[str, Any]:
    """One call: what its tasks need, the types of arguments and result (Spark's JSON as text),
    `empty`, the SQL text of the result of no rows if that is not NULL, and `in_scans`, whether a
    fold of folds of some rows each is the fold of all, NULL of no rows included.
    """
    if question["name"] in SET_FUNCTIONS:
        return SET_FUNCTIONS[question["name"]].bound(question["types"])
    call = bind(
        question["name"],
        question["types"],
        question.get("options") or {},
        question.get("positional") or (),
        Sources.from_json(question.get(CODE)),
    )
    takes_any = call.aggregate.result_of_any is not None and question["types"][0] != '"void"'
    in_scans = call.aggregate.passes_nulls and call.aggregate.normalize is None
    kind = json.dumps(to_spark(call.type))
    return {
        "fold": call.to_json(),
        "result": kind,
        "arguments": [question["types"][0] if takes_any else kind],
        "empty": call.aggregate.of_nothing,
        "in_scans": in_scans,
    }


def _described(one: Aggregate) -> dict[str, Any]:
    names = list(dict.fromkeys(map(spelling, (one.name, *one.aliases))))
    options = "".join(f", [{short_name(parameter)}]" for parameter in one.parameters)
    return {
        "name": one.name,
        "names": names,
        "has_options": bool(one.parameters),
        "lines": [
            f"Usage: {one.name}(column{options})",
            "Kind: aggregate",
            f"Gives: {one.summary}",
            f"NULL: {one.nulls}",
            f"Names: {', '.join(names)}",
        ],
    }


@QUESTIONS.look
def bind_state(question: Frame) -> dict[str, Any]:
    """The state of a call, by the function's `name`, the `types` of all arguments, the texts of
    the constant ones and of those that are `named`; or by the `signature` of a column.
    """
    text, sources = question.get("signature"), Sources.from_json(question.get(CODE))
    if text is not None:
        return _state(bound_signatures.parse(text), sources) | {"constants": ""}
    name, types = question["name"], [_type(kind) for kind in question["types"]]
    given, function = question["constants"], bound_signatures.find(question["name"])
    if function is not None and function.kind == "fold":
        found = _fold(name, question, types)
        return _state(found, sources) | {"constants": ""}
    if question["named"]:
        raise TableError(
            f"{name}_state has no named arguments, found {', '.join(question['named'])}"
        )
    found = bound_signatures.bind(name, types)
    constants = constants_of(found.function, given[len(found.types) :])
    shown = "".join(f";{n}={v}" for n, v in constants.items())
    return _state(found, sources) | {"constants": shown}


def _fold(name: str, question: Frame, types: list[DataType]) -> Signature:
    """The signature of a call of a fold: one column, then options."""
    given = question["constants"]
    for place, (kind, text) in enumerate(zip(types[1:], given[1:], strict=True), 2):
        if text is None and kind != VOID:
            raise TableError(f"{name}_state: argument {place} is an option, which is a constant")
    where = f"{name}_state"
    options = options_of(where, named(where, name), question["named"], given[1:])
    return bound_signatures.fold_signature(name, types[:1], options)


@QUESTIONS.look
def state_function(question: Frame) -> str | None:
    """The name of a function that has states, by any of its names; None if there is not one."""
    found = bound_signatures.find(question["name"])
    return None if found is None else found.name


def _state(found: Signature, sources: Sources) -> dict[str, Any]:
    function = found.function
    fold = _fold_call(found, sources) if function.kind == "fold" else None
    over = {} if function.kind == "spark" else _over_states(found.text, fold)
    return over | {
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


def _fold_call(found: Signature, sources: Sources) -> BoundCall:
    """The call of a fold that tasks fold, with the code of a user's function."""
    name = found.function.name
    code = None if spelling(name) in aggregates() else sources.for_options({"": name})
    return BoundCall(name, found.fields[0], bound_signatures.fold_options(found), code)


def _over_states(signature: str, fold: BoundCall | None) -> dict[str, Any]:
    """The fold of tasks over states of a signature, the type of the result, and the texts of result
    and state of no rows: SQL, the digits of bytes, or None of NULL.
    """
    name = signature.partition("(")[0]
    result = StateCall(name, signature, True, False, fold)
    state = StateCall(name, signature, True, True, fold)
    of_nothing = fold.aggregate.of_nothing if fold else _of_nothing(result)
    return {
        "fold": fold and fold.to_json(),
        "result": to_spark(result.type),
        "empty": of_nothing,
        "nothing": _of_nothing(state),
    }


def _of_nothing(call: StateCall) -> str | None:
    value = folding(call, 0).values(0, 1)[0].as_py()
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)


def _type(text: str) -> DataType:
    kind = json.loads(text)
    if kind == "void":
        return VOID
    try:
        return from_spark(kind)
    except NotSupportedError as error:
        raise TableError(f"an aggregate state can't be made of this argument: {error}") from None
