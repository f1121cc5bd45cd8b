"""The error of a user's function that raised: the user's file, line and message, and the values.

Compiled code does not know at which row it raised. So the groups are run again in halves until one
is left. That one is folded in plain Python, value by value.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from keyfold.aggregates.declaration import BadRecord, Inputs, Records
from keyfold.user_functions.user_function import UserFunction, located, plain

_LONGEST = 80


class StepError(Exception):
    """A user's function raised; the text has the place and the values."""


@contextmanager
def at(own: UserFunction, *arguments: Any) -> Iterator[None]:
    """Within its block, raises StepError if the function raises."""
    try:
        yield
    except StepError:
        raise
    except (Exception, SystemExit) as error:
        raise StepError(f"{raised(own, error)}, at ({', '.join(map(shown, arguments))})") from error


def raised(own: UserFunction, error: BaseException) -> str:
    """A message with the user's own file and line, the error's type and text."""
    file = plain(own.function).__code__.co_filename
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    place = f"{file}, line {frames[-1].lineno}" if frames else located(own.function)
    text = str(error)
    return f"{own} at {place}: {type(error).__name__}" + (f": {text}" if text else "")


def shown(value: Any) -> str:
    """A value in a message."""
    text = str(bytes(value)) if hasattr(value, "tobytes") and value.ndim else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def run(
    own: UserFunction,
    loop: Callable[..., None],
    arrays: Sequence[npt.NDArray[Any]],
    inputs: Inputs,
    outs: Sequence[npt.NDArray[Any]],
    definition: Callable[[Records], object],
) -> None:
    """Run a compiled loop over all groups. `definition` folds a group's records in plain Python.
    Raises BadRecord, which names the group, if the function raises.
    """

    def groups(first: int, stop: int) -> None:
        starts = inputs.starts[first : stop + 1]
        loop(*arrays, inputs.ops, inputs.order, starts, *(out[first:stop] for out in outs))

    try:
        groups(0, inputs.groups)
    except Exception as error:
        group = _first_failing(groups, 0, inputs.groups)
        text = words(own, lambda: definition(_records(inputs, group)), error)
        raise BadRecord(group, text) from error


def _records(inputs: Inputs, group: int) -> Records:
    places = range(int(inputs.starts[group]), int(inputs.starts[group + 1]))
    return [(int(inputs.ops[at]), inputs.column[int(inputs.order[at])].as_py()) for at in places]


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


def words(own: UserFunction, again: Callable[[], object], error: Exception) -> str:
    """The message for an error of compiled code: that of plain Python, in which `again` does the
    same, if it raises there too.
    """
    try:
        again()
    except StepError as found:
        return str(found)
    return f"{raised(own, error)} (compiled; plain Python does not raise here)"
