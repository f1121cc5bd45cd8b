"""The signatures of states of all aggregates: those of Spark, keyfold's and users' own."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyfold.aggregates import find as find_aggregate
from keyfold.aggregates.binding import Words, bound, loose, named, options_of, short_name
from keyfold.aggregates.declaration import Aggregate
from keyfold.aggregates.states import signature, state_functions
from keyfold.aggregates.states.signature import Signature
from keyfold.aggregates.states.state import StateFunction, Types
from keyfold.aggregates.states.state_option import STATE
from keyfold.errors import KeyfoldError, TableError


def find(name: str) -> StateFunction | None:
    """The function of that name or alias that has states; None if there is not one. Names that
    Spark knows have its meaning.
    """
    own = None if state_functions.find(name) else find_aggregate(name)
    return state_functions.find(name) if own is None or own.name == "agg_state" else _of_fold(own)


def bind(name: str, types: Types) -> Signature:
    """The signature of a call. Raises TableError if no such function has states of these types."""
    return signature.bind(name, types, find)


def parse(text: str) -> Signature:
    """The signature that a column declares. Raises TableError or FunctionError if it is not one,
    or if its function does not take its options.
    """
    found = signature.parse(text, find)
    if found.function.kind != "fold":
        if found.options:
            raise TableError(f"{found.function.name} has no options of its states, found '{text}'")
        return found
    return fold_signature(found.function.name, found.types, fold_options(found), found.required)


def fold_signature(
    name: str, types: Types, options: Mapping[str, str], required: Sequence[bool] = ()
) -> Signature:
    """The signature of states of a fold, by the texts of its options that differ from defaults."""
    declared = named(f"function {name}", name)
    function = _of_fold(declared)
    texts = [(short_name(p), options[p.name]) for p in declared.parameters if p.name in options]
    if any("'" in text for _, text in texts):
        raise TableError(f"{name}_state: an option of a state has no quote, found {dict(options)}")
    found = Signature(function, tuple(function.takes(types)), tuple(required), tuple(texts))
    assert fold_of(found) is not None  # bound, which raises what is wrong
    return found


def fold_of(found: Signature) -> Aggregate:
    """The aggregate that folds such states."""
    words = Words.of_call(_where(found))
    return bound(_aggregate(found), found.fields[0], fold_options(found), words)


def fold_options(found: Signature) -> Mapping[str, str]:
    """The options of a fold by the names of their declaration."""
    return options_of(_where(found), _aggregate(found), dict(found.options))


def state_json(options: Mapping[str, str], name: str) -> dict[str, Any] | None:
    """The signature of a column's states as the JVM gets it; None if it has no states."""
    text = options.get(f"fields.{name}.{STATE}")
    if text is None:
        return None
    try:
        found = parse(text)
    except KeyfoldError:  # of a later version, or a function of another session: it is described
        return {"signature": text, "declared": text, "required": []}
    required = list(found.required)
    return {"signature": found.text, "declared": found.declared, "required": required}


def _aggregate(found: Signature) -> Aggregate:
    return named(_where(found), found.function.name)


def _where(found: Signature) -> str:
    return f"states of {found.function.name}"


def _of_fold(own: Aggregate) -> StateFunction:
    def takes(types: Types) -> Types:
        if len(types) != 1:
            raise ValueError(f"takes one column, then options, found {len(types)} columns")
        return [loose(types[0])]

    def fields(types: Types) -> Types:
        return [own.result_of_any or types[0]]

    return StateFunction(own.name, takes, fields, "fold", kind="fold", summary=own.summary)
