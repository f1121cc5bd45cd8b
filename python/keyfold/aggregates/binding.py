"""An aggregate by its name, bound to the type of its values and to its options."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.aggregates import aggregates, find, spelling
from keyfold.aggregates.declaration import Aggregate, Parameter
from keyfold.errors import FunctionError, TableError
from keyfold.options import provided
from keyfold.options.values import given as parsed
from keyfold.options.values import shown
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, with_nullability

_OF_LISTAGG = "list_agg_"


@dataclass(frozen=True)
class Words:
    """The words of messages: for the place that names the function, for what it folds, for that in
    a sentence on its type, and for an option of the function.
    """

    names: str
    folds: str
    what: str
    option: Callable[[str], str]

    @staticmethod
    def of_call(where: str) -> "Words":
        """The words for a call of a function, which `where` names."""
        return Words(where, where, "argument", lambda name: f"{where}, option {name}")


def bound(
    declared: Aggregate, kind: logical.DataType, given: Mapping[str, str], words: Words
) -> Aggregate:
    """The aggregate for values of a type. Raises TableError if it does not take the type or an
    option, and FunctionError if a function of the user's own does not compile for it.
    """
    refused = _refused(declared, kind, words.what)
    if refused is not None:
        raise TableError(f"{words.names}: {refused}")
    settings = settings_of(declared, given, words.option)
    if declared.bind is None:
        return declared
    try:
        return declared.bind(settings, kind)
    except FunctionError as error:
        raise FunctionError(f"{words.folds}: {error}") from error.__cause__
    except ValueError as error:
        raise TableError(f"{words.folds}: {error}") from None


def _refused(declared: Aggregate, kind: logical.DataType, what: str) -> str | None:
    """The reason why a function does not take values of a type, None if it takes them."""
    if not declared.accepts.test(arrow_types.to_arrow(kind)):
        return (
            f"Data type for {declared.name} {what} must be "
            f"{declared.accepts.words} but was '{logical.describe(kind)}'."
        )
    words = None if declared.refuses is None else declared.refuses(kind)
    return None if words is None else f"{what}: {words}"


def settings_of(
    declared: Aggregate, given: Mapping[str, str], option: Callable[[str], str]
) -> Mapping[str, Any]:
    """The parameters of a function; raises TableError if a value does not parse. `option` has the
    words for one of that name.
    """
    found = {}
    for parameter in declared.parameters:
        text = given.get(parameter.name, parameter.default)
        where = option(parameter.name)
        found[parameter.name] = None if text is None else parsed(where, text, parameter.parse)
    return found


def named(where: str, function: str) -> Aggregate:
    """The aggregate of that name or alias; raises TableError with the nearest name. `where` begins
    the message.
    """
    found = find(function)
    if found is not None:
        return found
    theirs = provided.names("aggregates")
    own = sorted({aggregate.name for aggregate in aggregates().values()})
    near = difflib.get_close_matches(spelling(function), [*aggregates(), *theirs], 1, 0.6)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    raise TableError(
        f"{where}: Could not find any factory for identifier '{shown(function)}'. "
        f"{hint}There are {', '.join([*own, *theirs])}.{provided.explain('aggregates')}"
    )


def short_name(parameter: Parameter) -> str:
    """The name of an option as an argument: `skip_blank` of `list-agg-skip-blank`."""
    return spelling(parameter.name).removeprefix(_OF_LISTAGG)


def options_of(
    where: str, declared: Aggregate, given: Mapping[str, str], positional: Sequence[str | None] = ()
) -> dict[str, str]:
    """The texts of options that are not at their defaults, by the names of their declaration.
    Raises FunctionError, which begins with `where`, if one is unknown or given twice.
    """
    if len(positional) > len(declared.parameters):
        most = len(declared.parameters)
        options = f" and at most {most} options ({_known(declared)})" if most else ""
        raise FunctionError(
            f"{where}: expected one column{options}, found {1 + len(positional)} arguments"
        )
    texts: dict[Parameter, str | None] = dict(zip(declared.parameters, positional, strict=False))
    for name, text in given.items():
        parameter = _parameter(where, declared, name)
        if texts.get(parameter) is not None:
            raise FunctionError(f"{where}: option {name} is given twice")
        texts[parameter] = text
    found = {parameter.name: texts.get(parameter) for parameter in declared.parameters}
    defaults = {parameter.name: parameter.default for parameter in declared.parameters}
    return {n: text for n, text in found.items() if text is not None and text != defaults[n]}


def _parameter(where: str, declared: Aggregate, name: str) -> Parameter:
    known = {
        own: parameter
        for parameter in declared.parameters
        for own in (spelling(parameter.name), short_name(parameter))
    }
    found = known.get(spelling(name))
    if found is None:
        near = difflib.get_close_matches(spelling(name), known, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise FunctionError(
            f"{where}: option {name} is unknown{hint} (its options: {_known(declared)})"
        )
    return found


def _known(declared: Aggregate) -> str:
    return ", ".join(map(short_name, declared.parameters)) or "none"


def loose(kind: DataType) -> DataType:
    """The type of results: texts without a length, and every part may be NULL but keys of maps."""
    match kind:
        case Array(element):
            return Array(loose(element))
        case Map(key, value):
            return Map(with_nullability(loose(key), False), loose(value))
        case Row(fields, is_variant=False):
            return Row(tuple(replace(field, type=loose(field.type)) for field in fields))
        case Atomic(name="CHAR" | "VARCHAR"):
            return Atomic("STRING")
    return with_nullability(kind, True)
