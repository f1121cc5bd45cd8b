"""Shipped for authors of aggregates and engines: slow definitions, rows as text, random values.

For a function of your own: `check` it on random data, see the result of `merged` rows as text, and
`bench` it beside a built-in one.
"""

from keyfold.testing.checks import CheckError, check
from keyfold.testing.own import Figure, bench, merged, using

__all__ = ["CheckError", "Figure", "bench", "check", "merged", "using"]


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
