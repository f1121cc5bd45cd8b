"""Column types: Paimon's logical types. Those without parts are in the table of types
(`type_table`); `paimon`, `spark` and `arrow` parse and write their spellings. A type that the table
lacks is refused by name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from keyfold.types.type_table import TYPES, TypeFacts

_WIDER = {("FLOAT", "DOUBLE"), ("VARCHAR", "STRING")}


@dataclass(frozen=True)
class Atomic:
    """A type without parts. `name` is Paimon's root name; `length` is a length or a precision."""

    name: str
    nullable: bool = True
    length: int | None = None
    scale: int | None = None

    @property
    def facts(self) -> TypeFacts:
        """The facts that the table of types has of it."""
        return TYPES[self.name]

    def spelled(self, text: str) -> str:
        """A text of the table with this type's own numbers."""
        whole = (self.length or 0) - (self.scale or 0)
        return text.format(length=self.length, scale=self.scale or 0, whole=whole)


@dataclass(frozen=True)
class Array:
    """ARRAY of one element type."""

    element: "DataType"
    nullable: bool = True


@dataclass(frozen=True)
class Map:
    """MAP from one type to another."""

    key: "DataType"
    value: "DataType"
    nullable: bool = True


@dataclass(frozen=True)
class Field:
    """One field of a ROW; the id is drawn from the table's field counter."""

    id: int
    name: str
    type: "DataType"
    comment: str | None = None


@dataclass(frozen=True)
class Row:
    """ROW (Spark's STRUCT) of named fields. VARIANT is stored as one, of two binaries."""

    fields: tuple[Field, ...]
    nullable: bool = True
    is_variant: bool = False


DataType = Atomic | Array | Map | Row
VARIANT = "VARIANT"


def variant(nullable: bool = True) -> Row:
    """The type VARIANT: Spark's binaries of a value and of the names in it."""
    binary = Atomic("BYTES", False)
    return Row((Field(0, "value", binary), Field(1, "metadata", binary)), nullable, True)


def with_nullability(data_type: DataType, nullable: bool) -> DataType:
    """A type, nullable or NOT NULL."""
    return replace(data_type, nullable=nullable)


def describe(data_type: DataType) -> str:
    """The SQL text of the type in Spark, e.g. `ARRAY<STRUCT<a: INT>>`, without nullability."""
    match data_type:
        case Array(element):
            return f"ARRAY<{describe(element)}>"
        case Map(key, value):
            return f"MAP<{describe(key)}, {describe(value)}>"
        case Row(is_variant=True):
            return VARIANT
        case Row(fields):
            return f"STRUCT<{', '.join(f'{f.name}: {describe(f.type)}' for f in fields)}>"
        case Atomic(name=name) if name not in TYPES:  # Spark's VOID
            return name
        case Atomic():
            return data_type.spelled(data_type.facts.sql)


def holds(wider: DataType, data_type: DataType) -> bool:
    """Whether every value of an atomic type is exactly a value of `wider` too."""
    if not isinstance(wider, Atomic) or not isinstance(data_type, Atomic):
        return wider == data_type
    name, digits = data_type.name, data_type.facts.digits
    if wider.name == name and name in ("VARCHAR", "TIME"):
        return (wider.length or 0) >= (data_type.length or 0)
    if wider.name == "DECIMAL" and (digits is not None or name == "DECIMAL"):
        scale = data_type.scale or 0
        whole = (data_type.length or 0) - scale if digits is None else digits
        more = wider.scale or 0
        return more >= scale and (wider.length or 0) - more >= whole
    if digits is not None:
        return (wider.facts.digits or 0) >= digits
    return wider == data_type or (name, wider.name) in _WIDER


def is_atomic(data_type: DataType) -> bool:
    """Whether the type has no parts: then it may be a key, and has statistics."""
    return isinstance(data_type, Atomic)


def name_of(data_type: DataType) -> str:
    """The root name of an atomic type, "" of others."""
    return data_type.name if isinstance(data_type, Atomic) else ""


def assign_ids(data_type: DataType, draw: Callable[[], int]) -> DataType:
    """A type with nested field ids drawn anew, inner fields first as in Paimon."""
    match data_type:
        case Array(element):
            return replace(data_type, element=assign_ids(element, draw))
        case Map(key, value):
            return replace(data_type, key=assign_ids(key, draw), value=assign_ids(value, draw))
        case Row(is_variant=True):
            return data_type
        case Row(fields):
            return replace(data_type, fields=tuple(_assign_field(f, draw) for f in fields))
        case Atomic():
            return data_type


def _assign_field(field: Field, draw: Callable[[], int]) -> Field:
    inner = assign_ids(field.type, draw)
    return replace(field, id=draw(), type=inner)
