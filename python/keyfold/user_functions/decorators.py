"""The decorators: `aggregate` (a fold), `aggregate.pick`, `.combine`, `.gather`, and `engine`.

A stored value is itself an input of the next merge: rows of a key are folded when they are written,
compacted and read, in any grouping. So a function must give the same if it folds (a, b), then c, as
if it folds a and the result of (b, c); `keyfold.testing.check` tries that on random data.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from keyfold.aggregates import aggregates, spelling
from keyfold.aggregates.declaration import Aggregate, Fold, Pick, Records
from keyfold.errors import FunctionError
from keyfold.merge.engine import Engine
from keyfold.options.engines import engines
from keyfold.user_functions import fold, shapes, user_engine
from keyfold.user_functions.shapes import Declared
from keyfold.user_functions.user_function import Form, UserFunction, located, plain

Nulls = Literal["skip", "see"]
Decorator = Callable[[Callable[..., Any]], UserFunction]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class AggregateDecorator:
    """Makes an aggregate of a function: `@keyfold.aggregate("BIGINT")` makes a fold;
    `@keyfold.aggregate.pick()`, `.combine()` and `.gather()` make the other forms. A table names it
    in `fields.<column>.aggregate-function`; `keyfold.register` makes it known to a session.

    The result is a `UserFunction`, which can still be called like the plain function. Any grouping
    of a key's values must fold to the same result: `keyfold.testing.check` tries that.
    """

    def __call__(
        self,
        types: Declared = shapes.NUMBERS,
        *,
        nulls: Nulls = "skip",
        identity: Any = None,
        retract: Callable[..., Any] | None = None,
        in_any_order: bool = False,
        name: str | None = None,
    ) -> Decorator:
        """A fold: `function(accumulator, value)` gives the next accumulator; numba compiles it.

        The first value of a key is its first accumulator; both have the column's type. The function
        sees TINYINT to BIGINT as int, FLOAT and DOUBLE as 64-bit float, BOOLEAN as bool. DATE is
        int days and TIMESTAMP and TIMESTAMP_NTZ are int microseconds since 1970; a STRUCT is a
        named tuple. Whole numbers wrap at 64 bits. A result beyond the range of a smaller column
        type fails the write or query with FoldOverflowError.

        Args:
            types: SQL names of the column types it takes (default: the numbers): one, several, or a
                dict of field names and types for a STRUCT, whose accumulator is given as a tuple.
            nulls: "skip" leaves NULLs out (a STRUCT with a NULL field counts as NULL); with "see"
                both arguments may be None, and None may be given back.
            identity: The accumulator that `retract` starts from, as the function sees it; a tuple
                for a STRUCT.
            retract: `retract(accumulator, value)` takes a value back, for -U and -D rows. Without
                it such rows are refused.
            in_any_order: The result is the same in whatever order values come: then a query with
                this function, over a column that it folds, needs no merge.
            name: The name tables use (default: the function's own).

        Raises:
            FunctionError: It can't be declared so. Compile errors come from `keyfold.register`.
        """
        _parenthesised("aggregate(…)", types)
        return partial(
            _declared, "fold", types, shapes.FIXED, nulls, identity, retract, in_any_order, name
        )

    def pick(
        self,
        types: Declared = shapes.EVERY,
        *,
        in_any_order: bool = False,
        name: str | None = None,
    ) -> Decorator:
        """A pick: `function(best, value)` is True if value takes best's place; numba compiles it.

        The result is one of the values, so STRING and BINARY, numpy uint8 arrays of their bytes,
        can be picked too; other types are seen as a fold sees them. NULLs never come, and there is
        no retraction.

        Args:
            types: SQL names of the column types it takes (default: all that can be picked), or a
                dict of field names and types for a STRUCT.
            in_any_order: The result is the same in whatever order values come: then a query with
                this function, over a column that it folds, needs no merge.
            name: The name tables use (default: the function's own).

        Raises:
            FunctionError: It can't be declared so.
        """
        _parenthesised("aggregate.pick(…)", types)
        return partial(
            _declared, "pick", types, shapes.EVERY, "skip", None, None, in_any_order, name
        )

    def combine(
        self,
        *misplaced: object,
        nulls: Nulls = "skip",
        identity: Any = None,
        retract: Callable[..., Any] | None = None,
        in_any_order: bool = False,
        name: str | None = None,
    ) -> Decorator:
        """A combine: `function(values)` gives one value for the list of a key's values, in order.

        It is plain Python, called once a key that has several values. It takes columns of any type;
        values come as pyarrow's `as_py()` gives them, and the result must be of the column's type.

        Args:
            nulls: "skip" leaves NULLs out; with "see" they come as None.
            identity: The state that `retract` starts from.
            retract: `retract(state, value)` takes a value back.
            in_any_order: The result is the same in whatever order values come: then a query with
                this function, over a column that it folds, needs no merge.
            name: The name tables use (default: the function's own).

        Raises:
            FunctionError: It can't be declared so.
        """
        _parenthesised("aggregate.combine(…)", *misplaced, takes_types=False)
        return partial(_declared, "combine", None, (), nulls, identity, retract, in_any_order, name)

    def gather(
        self,
        *misplaced: object,
        nulls: Nulls = "skip",
        in_any_order: bool = False,
        name: str | None = None,
    ) -> Decorator:
        """A gather: `function(values, offsets)` gives the values of many keys in one call.

        `values` is a pyarrow.Array of the column's type, `offsets` a numpy int64 array: key g has
        values[offsets[g]:offsets[g + 1]], which may be empty. The result must be a pyarrow.Array of
        the same type with one value per key, len(offsets) - 1 in all. Columns may have any type.

        Args:
            nulls: "skip" leaves NULLs out of `values`, "see" keeps them.
            in_any_order: The result is the same in whatever order values come: then a query with
                this function, over a column that it folds, needs no merge.
            name: The name tables use (default: the function's own).

        Raises:
            FunctionError: It can't be declared so.
        """
        _parenthesised("aggregate.gather(…)", *misplaced, takes_types=False)
        return partial(_declared, "gather", None, (), nulls, None, None, in_any_order, name)


aggregate = AggregateDecorator()


def engine(columns: Mapping[str, str], *, name: str | None = None) -> Decorator:
    """A merge engine: `function(kept, row)` is True if row takes kept's place; numba compiles it.

    Rows of a key come in merge order, as named tuples of `columns`, with the types that a fold or
    pick sees and None for NULL. The kept row is kept whole. Such an engine takes no -U and -D rows.
    A table names it in `merge-engine`; `keyfold.register` makes it known to a session.

    Args:
        columns: Names and SQL types of the columns it looks at, which a table must have. NOT NULL
            after a type demands that the table's column has it too.
        name: The name tables use (default: the function's own).

    Raises:
        FunctionError: It can't be declared so. Compile errors come from `keyfold.register`.
    """
    _parenthesised("engine({…})", columns)

    def declare(function: Callable[..., Any]) -> UserFunction:
        called = _named("merge engine", function, name)
        if not columns or not isinstance(columns, Mapping):
            raise FunctionError(f"merge engine '{called}': columns must be a dict of SQL types")
        known = [*shapes.EVERY, *(kind + shapes.NOT_NULL for kind in shapes.EVERY)]
        shapes.checked(f"merge engine '{called}'", columns, known)
        kinds = {column: kind.upper() for column, kind in columns.items()}
        made = UserFunction("engine", called, function, columns=kinds)
        _check(made, called in engines(), 2)
        return made

    return declare


def _parenthesised(form: str, *found: object, takes_types: bool = True) -> None:
    """Raises FunctionError if the function itself is in the place of the types, or if a form that
    takes any type is given types.
    """
    for one in found:
        if inspect.isfunction(one):
            raise FunctionError(f"write @keyfold.{form}, with parentheses, above {one.__name__}")
        if not takes_types:
            raise FunctionError(f"keyfold.{form} is for any type and takes none, found {one!r}")


def _named(what: str, function: Callable[..., Any], name: str | None) -> str:
    """Its name in tables. Raises FunctionError if it is not a function that returns its value."""
    inner = plain(function)
    if not inspect.isfunction(inner):
        raise FunctionError(
            f"{what}: expected a function that def or lambda made, found {function!r}"
        )
    if inspect.isgeneratorfunction(inner) or inspect.iscoroutinefunction(inner):
        raise FunctionError(
            f"{what} at {located(function)}: it returns its value: no yield and no async"
        )
    return name or str(inner.__name__)


def _declared(
    form: Form,
    types: Declared | None,
    known: tuple[str, ...],
    nulls: Nulls,
    identity: Any,
    retract: Callable[..., Any] | None,
    in_any_order: bool,
    name: str | None,
    function: Callable[..., Any],
) -> UserFunction:
    called = _named("aggregate function", function, name)
    whose = f"aggregate function '{called}'"
    kinds = None if types is None else shapes.checked(whose, types, known)
    summary = (inspect.getdoc(plain(function)) or "").partition("\n")[0]
    made = UserFunction(
        form,
        called,
        function,
        kinds,
        nulls,
        identity,
        retract,
        summary=summary,
        in_any_order=in_any_order,
    )
    _check(made, spelling(called) in aggregates(), 1 if form == "combine" else 2)
    if nulls not in ("skip", "see"):
        raise FunctionError(f"{made}: nulls must be 'skip' or 'see', found {nulls!r}")
    if nulls == "see" and isinstance(kinds, dict):
        raise FunctionError(f"{made}: a STRUCT's fields are never None: leave out nulls='see'")
    if retract is not None:
        if identity is None:
            raise FunctionError(
                f"{made}: retract needs the identity it starts from, identity=0 say"
            )
        _named(f"{made}: retract", retract, None)
        _check_arguments(made, retract, 2)
    if kinds is not None and identity is not None:
        shapes.check_identity(str(made), kinds, identity)
    return made


def _check(made: UserFunction, is_taken: bool, arguments: int) -> None:
    place = located(made.function)
    if not _NAME.fullmatch(made.name):
        raise FunctionError(
            f"{made} at {place}: a name is a letter, then letters, digits and _; give name=…"
        )
    if is_taken:
        raise FunctionError(f"{made} at {place}: keyfold itself has one of that name; give name=…")
    _check_arguments(made, made.function, arguments)


def _check_arguments(made: UserFunction, function: Callable[..., Any], expected: int) -> None:
    found = plain(function).__code__.co_argcount
    if found != expected:
        place = located(function)
        raise FunctionError(f"{made} at {place}: it takes {found} arguments, expected {expected}")


def aggregate_of(own: UserFunction) -> Aggregate:
    """The internal declaration of an aggregate; its `bind` compiles it for a column."""
    bind = partial(fold.bound, own)
    if own.form == "pick":
        return own.declared(Pick, _unbound, bind=bind)
    return own.declared(Fold, _unbound, bind=bind)


def engine_of(own: UserFunction) -> Engine:
    """The internal declaration of an engine."""
    return user_engine.engine(own)


def _unbound(records: Records) -> Any:
    raise AssertionError("a user's aggregate is bound to a column's type before it is asked")
