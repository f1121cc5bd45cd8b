"""SQL types by the names decorators take, and small random values of them."""

import datetime
from random import Random
from typing import Any

from keyfold import types

_PAIMON = {
    "BINARY": "BYTES",
    "TIMESTAMP_NTZ": "TIMESTAMP(6)",
    "TIMESTAMP": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
_EPOCH = datetime.datetime(1970, 1, 1)


def paimon_name(kind: str) -> str:
    """Paimon's name of a SQL type."""
    return _PAIMON.get(kind, kind)


def logical_type(kind: str | dict[str, str]) -> types.DataType:
    """keyfold's type of SQL names as decorators take them."""
    if isinstance(kind, str):
        return types.from_paimon(paimon_name(kind))
    fields = [
        {"id": n, "name": name, "type": paimon_name(one)}
        for n, (name, one) in enumerate(kind.items())
    ]
    return types.from_paimon({"type": "ROW", "fields": fields})


def small_value(kind: str | dict[str, str], random: Random) -> Any:
    """A random value of a SQL type, small, so that sums stay exact."""
    if isinstance(kind, dict):
        return {name: small_value(one, random) for name, one in kind.items()}
    if kind in ("DOUBLE", "FLOAT"):
        return random.randrange(-80, 80) / 4
    if kind == "BOOLEAN":
        return random.random() < 0.5
    if kind in ("STRING", "BINARY"):
        text = "".join(random.choices("abcdé", k=random.randrange(1, 6)))
        return text if kind == "STRING" else text.encode()
    number = random.randrange(-9, 10)
    if kind == "DATE":
        return _EPOCH.date() + datetime.timedelta(days=number)
    if kind.startswith("TIMESTAMP"):
        moment = _EPOCH + datetime.timedelta(microseconds=number)
        return moment if kind == "TIMESTAMP_NTZ" else moment.replace(tzinfo=datetime.timezone.utc)
    return number
