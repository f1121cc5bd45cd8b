"""Names of options and settings as tests write them: as arguments, which have no dots or dashes."""

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def option_name(argument: str) -> str:
    """The option of an argument: `__` stands for a dot, `_` for a dash."""
    return argument.replace("__", ".").replace("_", "-")


def option_names(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """The values by their options."""
    return {option_name(argument): value for argument, value in arguments.items()}


def setting_names(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """The values by settings of Spark or a server, whose names have no dashes: `__` is a dot."""
    return {argument.replace("__", "."): value for argument, value in arguments.items()}
