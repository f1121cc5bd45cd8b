"""Values of manifests as text: as JSON and metadata tables show them, and as Paimon names folders.

DATE is days, TIMESTAMP microseconds, both int; `literals` has the other forms.
"""

import math
from decimal import Decimal
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import BINARIES


def shown(value: Any, kind: DataType) -> Any:
    """A value as JSON holds it. DATE, TIME and TIMESTAMP are in ISO form; DECIMAL, NaN and
    infinities are text. BYTES are text if they are UTF-8, else hex.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(kind, Atomic) and kind.facts.iso is not None:
        return kind.facts.iso(value)
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, Decimal) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def plain(value: Any, kind: DataType, null: str) -> str:
    """A value as one text; `null` is that of NULL."""
    if value is None:
        return null
    return str(value).lower() if isinstance(value, bool) else str(shown(value, kind))


def in_folder(value: Any, kind: DataType, is_legacy: bool) -> str:
    """The text of a non-null value in the name of its partition's folder; legacy is Java's toString
    of the stored form. Raises ValueError if only that form can name it.
    """
    assert isinstance(kind, Atomic)
    if kind.name in BINARIES:
        raise NotSupportedError("a BINARY column can't be a partition column")
    if kind.name == "TIMESTAMP_LTZ" and not is_legacy:
        raise NotSupportedError("partition.legacy-name = false with a TIMESTAMP partition column")
    return kind.facts.in_folder(value, kind.length or 0, is_legacy)
