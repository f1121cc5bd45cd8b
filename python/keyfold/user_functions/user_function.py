"""A user's function as a decorator makes it; it can still be called like the plain function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from keyfold.aggregates.declaration import ANY, Records
from keyfold.user_functions import shapes
from keyfold.user_functions.shapes import Shape

Made = TypeVar("Made")
Form = Literal["fold", "pick", "combine", "gather", "engine"]


@dataclass(frozen=True, eq=False)
class UserFunction:
    """An aggregate or merge engine of a user, as `keyfold.aggregate` and `keyfold.engine` make it.
    A call of it calls the function in plain Python.

    `types` are SQL names, or a STRUCT's fields; None is any type. An engine has `columns` instead.
    With `in_any_order` the result does not depend on the order of values.
    """

    form: Form
    name: str
    function: Callable[..., Any]
    types: tuple[str, ...] | dict[str, str] | None = None
    nulls: Literal["skip", "see"] = "skip"
    identity: Any = None
    retract: Callable[..., Any] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    in_any_order: bool = False

    def __call__(self, *arguments: Any) -> Any:
        """The result of the function, in plain Python."""
        return self.function(*arguments)

    def __str__(self) -> str:
        return f"{'merge engine' if self.form == 'engine' else 'aggregate function'} '{self.name}'"

    @property
    def sees_nulls(self) -> bool:
        """Whether a NULL reaches the function, as None."""
        return self.nulls == "see"

    def started(self, form: Shape) -> Any:
        """The identity as the function sees it."""
        is_row = form.is_tuple and self.identity is not None
        return shapes.row_class(form)(*self.identity) if is_row else self.identity

    def declared(
        self, kind: Callable[..., Made], definition: Callable[[Records], Any], **of_kind: Any
    ) -> Made:
        """The aggregate, declared as every other."""
        test = shapes.accepts(self.types) if self.types is not None else ANY
        return kind(
            self.name,
            test,
            definition,
            is_retractable=self.retract is not None,
            passes_nulls=not self.sees_nulls,
            is_stored_by_paimon=False,
            unites=self.in_any_order,
            summary=self.summary,
            nulls="seen" if self.sees_nulls else "skipped",
            retraction="taken back" if self.retract is not None else "refused",
            **of_kind,
        )


def plain(function: Callable[..., Any]) -> Any:
    """The Python function behind a compiled one, or the function itself."""
    return getattr(function, "py_func", function)


def located(function: Callable[..., Any]) -> str:
    """File and line of a function's definition."""
    code = plain(function).__code__
    return f"{code.co_filename}, line {code.co_firstlineno}"
