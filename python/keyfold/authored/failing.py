"""What a user reads when their function raised: their file, line and message, and the values.

Compiled code doesn't say at which row it raised. So the groups are run again in halves, until one
is left, and that one in plain Python, value by value.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from keyfold.aggregates.declare import BadRecord, Inputs
from keyfold.authored.function import Function
from keyfold.kernels.cloned import plain
from keyfold.kernels.generated import located

_LONGEST = 80


class StepError(Exception):
    """A user's function raised; the text says where and at which values."""


@contextmanager
def at(own: Function, *arguments: Any) -> Iterator[None]:
    """StepError for what the function raises inside."""
    try:
        yield
    except StepError:
        raise
    except Exception as error:
        raise StepError(f"{raised(own, error)}, at ({', '.join(map(shown, arguments))})") from error


def raised(own: Function, error: BaseException) -> str:
    """The user's own file and line, the error's type and text."""
    file = plain(own.function).__code__.co_filename
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    place = f"{file}, line {frames[-1].lineno}" if frames else located(own.function)
    text = str(error)
    return f"{own} at {place}: {type(error).__name__}" + (f": {text}" if text else "")


def shown(value: Any) -> str:
    """A value in a message."""
    text = str(bytes(value)) if hasattr(value, "tobytes") and value.ndim else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


@contextmanager
def explained(
    own: Function,
    groups: int,
    run: Callable[[int, int], None],
    replay: Callable[[int], object],
) -> Iterator[None]:
    """BadRecord, naming the group, for what compiled code raises inside.

    `run` runs the groups from one number to another, `replay` one group in plain Python.
    """
    try:
        yield
    except Exception as error:
        group = _first_failing(run, 0, groups)
        raise BadRecord(group, _words(own, group, replay, error)) from error


def _first_failing(run: Callable[[int, int], None], first: int, stop: int) -> int:
    while stop - first > 1:
        middle = (first + stop) // 2
        try:
            run(first, middle)
        except Exception:  # whatever the user's function raises
            stop = middle
        else:
            first = middle
    return first


def _words(own: Function, group: int, replay: Callable[[int], object], error: Exception) -> str:
    try:
        replay(group)
    except StepError as found:
        return str(found)
    return f"{raised(own, error)} (compiled; plain Python does not raise here)"


def records_of(inputs: Inputs, group: int) -> list[tuple[int, Any]]:
    """The records of one group."""
    places = range(int(inputs.starts[group]), int(inputs.starts[group + 1]))
    return [(int(inputs.ops[at]), inputs.column[int(inputs.order[at])].as_py()) for at in places]
