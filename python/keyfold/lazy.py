"""`cached_property` without a lock, as Python has it from 3.12 on.

Before, one lock of the class was held while a value was computed: threads waited for values of
other objects, and a process that was forked meanwhile waited for ever, as the thread that would
release its copy of the lock was not there.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """A property that an object computes once; threads that ask at once may do it twice."""

        def __init__(self, function: Any) -> None:
            self._function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self._name] = self._function(instance)
            return found
