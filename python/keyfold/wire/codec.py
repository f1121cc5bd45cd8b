"""The one codec of the wire: frozen dataclasses to and from JSON values, by their type hints.

An object is a JSON object by the names of its fields, or, with `is_list`, a list in their order.
Fields that are None by default are left out, of a list the last one; unknown keys are ignored.
Bytes are base64, Arrow batches base64 IPC streams. Types of columns are Paimon's JSON. Partitions
and predicates have forms of their own.
"""

from __future__ import annotations

import base64
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from keyfold.types import logical
from keyfold.types import paimon as paimon_types

Travelling = TypeVar("Travelling", bound="Wire")


class Wire:
    """A frozen dataclass that travels as JSON."""

    is_list: ClassVar[bool] = False

    def to_json(self) -> Any:
        """The object as a value that `json.dumps` takes."""
        return _codec(type(self)).encode(self)

    @classmethod
    def from_json(cls: type[Travelling], json: Any) -> Travelling:
        """The inverse of `to_json`."""
        found: Travelling = _codec(cls).decode(json)
        return found


def batch_to_text(batch: pa.RecordBatch) -> str:
    """The batch as a base64 Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def batch_from_text(text: str) -> pa.RecordBatch:
    """The single batch of a base64 Arrow IPC stream."""
    with pa.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_next_batch()


class _Codec(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


_AS_IT_IS = _Codec(lambda value: value, lambda value: value)
_codecs: dict[Any, _Codec] = {
    bytes: _Codec(lambda data: base64.b64encode(data).decode("ascii"), base64.b64decode),
    pa.RecordBatch: _Codec(batch_to_text, batch_from_text),
    logical.DataType: _Codec(paimon_types.to_paimon, paimon_types.from_paimon),
}


def _codec(hint: Any) -> _Codec:
    """The codec of values of a type; `_AS_IT_IS` if JSON has them itself."""
    found = _codecs.get(hint)
    if found is None:
        found = _codecs[hint] = _made(hint)
    return found


def _made(hint: Any) -> _Codec:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (arg for arg in args if arg is not type(None))
        return _optional(_codec(inner))
    if origin is tuple:
        return _tuple([_codec(arg) for arg in args if arg is not ...], is_long=args[-1] is ...)
    if origin is Mapping:
        return _mapping(args[0], _codec(args[1]))
    if hasattr(hint, "to_json") and not issubclass(hint, Wire):
        return _Codec(hint.to_json, hint.from_json)
    if is_dataclass(hint):
        return _dataclass(hint)
    return _AS_IT_IS


def _optional(inner: _Codec) -> _Codec:
    if inner is _AS_IT_IS:
        return inner
    encode, decode = inner
    return _Codec(
        lambda value: None if value is None else encode(value),
        lambda json: None if json is None else decode(json),
    )


def _tuple(parts: list[_Codec], *, is_long: bool) -> _Codec:
    if all(part is _AS_IT_IS for part in parts):
        return _Codec(list, tuple)
    if is_long:
        encode, decode = parts[0]
        return _Codec(
            lambda values: [encode(value) for value in values],
            lambda json: tuple([decode(value) for value in json]),
        )
    return _Codec(
        lambda values: [part.encode(v) for part, v in zip(parts, values, strict=True)],
        lambda json: tuple(part.decode(v) for part, v in zip(parts, json, strict=True)),
    )


def _mapping(key: type, value: _Codec) -> _Codec:
    """The codec of a mapping; JSON's keys are text."""
    return _Codec(
        lambda values: {str(name): value.encode(one) for name, one in values.items()},
        lambda json: {key(name): value.decode(one) for name, one in json.items()},
    )


def _dataclass(cls: Any) -> _Codec:
    hints = get_type_hints(cls)
    own = {field.name: _codec(hints[field.name]) for field in fields(cls)}
    if cls.is_list:
        return _listed(cls, own)
    get = attrgetter(*own)
    needed = {f.name for f in fields(cls) if f.default is f.default_factory is MISSING}
    parts = [(f.name, own[f.name].encode, f.default is None) for f in fields(cls)]

    def encode(value: Any) -> dict[str, Any]:
        return {
            name: encode_one(found)
            for (name, encode_one, is_optional), found in zip(parts, get(value), strict=True)
            if not is_optional or found is not None
        }

    def decode(json: Any) -> Any:
        known = [name for name in own if name in json or name in needed]
        return cls(**{name: own[name].decode(json[name]) for name in known})

    return _Codec(encode, decode)


def _listed(cls: Any, own: Mapping[str, _Codec]) -> _Codec:
    """The codec of a list of fields. The last one may be None by default, and named."""
    *_, last = fields(cls)
    if last.kw_only:
        return _with_last(cls, last.name, own)
    get = attrgetter(*own)
    if all(part is _AS_IT_IS for part in own.values()):
        return _Codec(get, lambda json: cls(*json))
    encode_list, decode_list = _tuple(list(own.values()), is_long=False)
    return _Codec(lambda value: encode_list(get(value)), lambda json: cls(*decode_list(json)))


def _with_last(cls: Any, name: str, own: Mapping[str, _Codec]) -> _Codec:
    """The codec of values that JSON has themselves, and a last one, which is rarely there."""
    others, last = [other for other in own if other != name], own[name]
    assert all(own[other] is _AS_IT_IS for other in others), f"a field of {cls} has parts"
    get, get_last, count = attrgetter(*others), attrgetter(name), len(others)

    def encode(value: Any) -> Any:
        found = get_last(value)
        return get(value) if found is None else (*get(value), last.encode(found))

    def decode(json: Any) -> Any:
        if len(json) <= count:
            return cls(*json)
        return cls(*json[:count], **{name: last.decode(json[count])})

    return _Codec(encode, decode)
