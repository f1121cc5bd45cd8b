"""What a decorator made of a user's function; it is still called as the function it was."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from keyfold.aggregates.declare import ANY, Records
from keyfold.authored import shapes
from keyfold.kernels.loops import Shape

Made = TypeVar("Made")
Form = Literal["fold", "pick", "combine", "gather", "engine"]


@dataclass(frozen=True, eq=False)
class Function:
    """An aggregate or engine of a user's: made by `keyfold.aggregate` and `keyfold.engine`.

    `types` are SQL names, or a STRUCT's fields; None is any type. An engine has `columns` instead.
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

    def __call__(self, *arguments: Any) -> Any:
        """The function, in plain Python."""
        return self.function(*arguments)

    def __str__(self) -> str:
        return f"{'merge engine' if self.form == 'engine' else 'aggregate function'} '{self.name}'"

    @property
    def sees_nulls(self) -> bool:
        """Whether a NULL reaches the function, as None."""
        return self.nulls == "see"

    def started(self, form: Shape) -> Any:
        """The identity as the function sees it."""
        return shapes.row_class(form)(*self.identity) if form.is_tuple else self.identity

    def start(self, form: Shape) -> tuple[Any, ...] | None:
        """The identity, a value a slot."""
        if self.identity is None:
            return None
        return tuple(self.identity) if form.is_tuple else (self.identity,)

    def declared(
        self, kind: Callable[..., Made], definition: Callable[[Records], Any], **of_kind: Any
    ) -> Made:
        """The aggregate as every other is declared."""
        test = shapes.accepts(self.types) if self.types is not None else ANY
        return kind(
            self.name,
            test,
            definition,
            is_retractable=self.retract is not None,
            passes_nulls=not self.sees_nulls,
            is_stored_by_paimon=False,
            summary=self.summary,
            nulls="seen" if self.sees_nulls else "skipped",
            retraction="taken back" if self.retract is not None else "refused",
            **of_kind,
        )
