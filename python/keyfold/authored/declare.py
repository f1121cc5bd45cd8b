"""The decorators: `aggregate` (a fold), `aggregate.pick`, `.combine`, `.gather`, and `engine`.

A stored value is itself an input of the next merge: rows of a key are folded when they are written,
compacted and read, in any grouping. So a function must give the same whether it folds (a, b), then
c, or a and what (b, c) gave; `keyfold.testing.check` tries that on random data.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from keyfold.aggregates import aggregates, spelling
from keyfold.aggregates.declare import Aggregate, Combine, Fold, Gather, Pick, Records
from keyfold.authored import batches, fold, rows, shapes
from keyfold.authored.function import Function, located, plain
from keyfold.authored.shapes import Declared
from keyfold.errors import FunctionError
from keyfold.merge.declare import Engine
from keyfold.merge.engines import engines

Nulls = Literal["skip", "see"]
Decorator = Callable[[Callable[..., Any]], Function]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class _AggregateDecorator:
    """`keyfold.aggregate` and its other forms."""

    def __call__(
        self,
        types: Declared = shapes.NUMBERS,
        *,
        nulls: Nulls = "skip",
        identity: Any = None,
        retract: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Decorator:
        """A fold: `function(accumulator, value)` gives the next accumulator; numba compiles it.

        The first value of a key is its first accumulator. `types` are SQL names (numbers, BOOLEAN,
        DATE, TIMESTAMP, TIMESTAMP_NTZ), or a dict of them for a STRUCT, whose values are named
        tuples and whose accumulator is given as a tuple; a STRUCT with a NULL field counts as
        NULL. With `nulls="skip"` NULLs never come, with "see" both arguments may be None, and None
        may be given back. `retract(accumulator, value)` takes a value back and needs the
        `identity` it starts from. Whole numbers wrap at 64 bits as numba's do; a result that
        leaves a smaller type is an overflow error. FunctionError for what can't be declared.
        """
        _parenthesised("aggregate(…)", types)
        return partial(_declared, "fold", types, shapes.FIXED, nulls, identity, retract, name)

    def pick(self, types: Declared = shapes.EVERY, *, name: str | None = None) -> Decorator:
        """A pick: `function(best, value)` says whether value takes best's place; numba compiles it.

        NULLs never come. STRING and BINARY are numpy arrays of their bytes. No retraction.
        """
        _parenthesised("aggregate.pick(…)", types)
        return partial(_declared, "pick", types, shapes.EVERY, "skip", None, None, name)

    def combine(
        self,
        *misplaced: object,
        nulls: Nulls = "skip",
        identity: Any = None,
        retract: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Decorator:
        """A combine: `function(values)` of a key's values in order, in plain Python, for any type.

        It is not called for a key with one value. `retract(state, value)` takes a value back.
        """
        _parenthesised("aggregate.combine(…)", *misplaced, takes_types=False)
        return partial(_declared, "combine", None, (), nulls, identity, retract, name)

    def gather(
        self, *misplaced: object, nulls: Nulls = "skip", name: str | None = None
    ) -> Decorator:
        """A gather: `function(values, offsets)` of many keys' values, an Arrow array in which key g
        has values[offsets[g]:offsets[g + 1]], gives an array of the same type, one value a key.
        """
        _parenthesised("aggregate.gather(…)", *misplaced, takes_types=False)
        return partial(_declared, "gather", None, (), nulls, None, None, name)


aggregate = _AggregateDecorator()


def engine(columns: Mapping[str, str], *, name: str | None = None) -> Decorator:
    """A merge engine: `function(kept, row)` says whether row takes kept's place; numba compiles it.

    Rows come in merge order, as named tuples of `columns` (names and SQL types that the table must
    have), NULL as None; with NOT NULL behind a type the table's column must be so too. The row that
    is kept is kept whole.
    """
    _parenthesised("engine({…})", columns)

    def declare(function: Callable[..., Any]) -> Function:
        called = _called("merge engine", function, name)
        if not columns or not isinstance(columns, Mapping):
            raise FunctionError(f"merge engine '{called}': columns must be a dict of SQL types")
        known = [*shapes.EVERY, *(kind + shapes.NOT_NULL for kind in shapes.EVERY)]
        shapes.checked(f"merge engine '{called}'", columns, known)
        made = Function(
            "engine", called, function, columns={n: t.upper() for n, t in columns.items()}
        )
        _check(made, called in engines(), 2)
        return made

    return declare


def _parenthesised(form: str, *found: object, takes_types: bool = True) -> None:
    """FunctionError where the function itself stands in the place of types, or types where none
    are taken.
    """
    for one in found:
        if inspect.isfunction(one):
            raise FunctionError(f"write @keyfold.{form}, with parentheses, above {one.__name__}")
        if not takes_types:
            raise FunctionError(f"keyfold.{form} is for any type and takes none, found {one!r}")


def _called(what: str, function: Callable[..., Any], name: str | None) -> str:
    """The name it gets; FunctionError for what is no function."""
    if not inspect.isfunction(plain(function)):
        raise FunctionError(
            f"{what}: expected a function that def or lambda made, found {function!r}"
        )
    inner = plain(function)
    if inspect.isgeneratorfunction(inner) or inspect.iscoroutinefunction(inner):
        raise FunctionError(
            f"{what} at {located(function)}: it returns its value: no yield and no async"
        )
    return name or str(inner.__name__)


def _declared(
    form: Literal["fold", "pick", "combine", "gather"],
    types: Declared | None,
    known: tuple[str, ...],
    nulls: Nulls,
    identity: Any,
    retract: Callable[..., Any] | None,
    name: str | None,
    function: Callable[..., Any],
) -> Function:
    called = _called("aggregate function", function, name)
    kinds = (
        None if types is None else shapes.checked(f"aggregate function '{called}'", types, known)
    )
    summary = (inspect.getdoc(plain(function)) or "").partition("\n")[0]
    made = Function(form, called, function, kinds, nulls, identity, retract, summary=summary)
    _check(made, spelling(called) in aggregates(), 1 if form == "combine" else 2)
    if nulls not in ("skip", "see"):
        raise FunctionError(f"{made}: nulls must be 'skip' or 'see', found {nulls!r}")
    if nulls == "see" and isinstance(kinds, dict):
        raise FunctionError(f"{made}: a STRUCT's fields are never None: leave out nulls='see'")
    if retract is not None and identity is None:
        raise FunctionError(f"{made}: retract needs the identity it starts from, identity=0 say")
    if retract is not None:
        _called(f"{made}: retract", retract, None)
        _check_arguments(made, retract, 2)
    if kinds is not None and identity is not None:
        shapes.check_identity(str(made), kinds, identity)
    return made


def _check(made: Function, is_taken: bool, arguments: int) -> None:
    place = located(made.function)
    if not _NAME.fullmatch(made.name):
        raise FunctionError(
            f"{made} at {place}: a name is a letter, then letters, digits and _; give name=…"
        )
    if is_taken:
        raise FunctionError(f"{made} at {place}: keyfold itself has one of that name; give name=…")
    _check_arguments(made, made.function, arguments)


def _check_arguments(made: Function, function: Callable[..., Any], expected: int) -> None:
    found = plain(function).__code__.co_argcount
    if found != expected:
        place = located(function)
        raise FunctionError(f"{made} at {place}: it takes {found} arguments, expected {expected}")


def aggregate_of(own: Function) -> Aggregate:
    """The internal declaration of an aggregate; its `bind` compiles it for a column."""
    match own.form:
        case "fold":
            return own.declared(Fold, _unbound, bind=partial(fold.bound_fold, own))
        case "pick":
            return own.declared(Pick, _unbound, bind=partial(fold.bound_pick, own))
        case "combine":
            return own.declared(Combine, _unbound, bind=partial(batches.bound_combine, own))
        case _:
            return own.declared(Gather, _unbound, bind=partial(batches.bound_gather, own))


def engine_of(own: Function) -> Engine:
    """The internal declaration of an engine."""
    return rows.engine(own)


def _unbound(records: Records) -> Any:
    raise AssertionError("a user's aggregate is bound to a column's type before it is asked")
