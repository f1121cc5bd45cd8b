"""What a class file of Java says of its links: its ancestors, its members, what it refers to.

Bodies and annotations are passed over. The format is chapter 4 of the JVM's specification.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

PUBLIC, PRIVATE, PROTECTED, STATIC, FINAL = 0x1, 0x2, 0x4, 0x8, 0x10
INTERFACE, ABSTRACT = 0x200, 0x400
UTF8, CLASS, FIELD, METHOD, INTERFACE_METHOD, NAME_AND_TYPE, DYNAMIC_CALL = 1, 7, 9, 10, 11, 12, 18
MEMBERS = (FIELD, METHOD, INTERFACE_METHOD)
# Of each tag of the constant pool but UTF8: the form of its entry.
FORMS = {
    3: struct.Struct(">i"),
    4: struct.Struct(">f"),
    5: struct.Struct(">q"),
    6: struct.Struct(">d"),
    **dict.fromkeys((7, 8, 16, 19, 20), struct.Struct(">H")),
    **dict.fromkeys((9, 10, 11, 12, 17, 18), struct.Struct(">HH")),
    15: struct.Struct(">BH"),
}
WIDE = (5, 6)  # long and double take two numbers

Member = tuple[str, str]  # name and descriptor


@dataclass(frozen=True)
class Reference:
    """A field or method of another class, or of this one, as the code names it."""

    kind: int  # one of MEMBERS
    owner: str
    member: Member


@dataclass(frozen=True)
class ClassFile:
    """Names of classes have slashes, as in the file. Members have their flags."""

    name: str
    flags: int
    above: str | None
    interfaces: tuple[str, ...]
    fields: dict[Member, int]
    methods: dict[Member, int]
    classes: tuple[str, ...] = field(repr=False)
    references: tuple[Reference, ...] = field(repr=False)
    lambdas: tuple[Member, ...] = field(repr=False)

    @property
    def is_interface(self) -> bool:
        return bool(self.flags & INTERFACE)

    @property
    def package(self) -> str:
        return self.name.rpartition("/")[0]


def read(data: bytes) -> ClassFile:
    """The links of one class file."""
    assert data[:4] == b"\xca\xfe\xba\xbe", "not a class file"
    pool, at = _pool(data)
    flags, this, above, count = struct.unpack_from(">4H", data, at)
    interfaces = struct.unpack_from(f">{count}H", data, at + 8)
    fields, at = _members(data, at + 8 + 2 * count, pool)
    methods, _ = _members(data, at, pool)
    entries = list(pool.values())
    return ClassFile(
        _class(pool, this),
        flags,
        _class(pool, above) if above else None,
        tuple(_class(pool, one) for one in interfaces),
        fields,
        methods,
        tuple(_text(pool, names[0]) for tag, names in entries if tag == CLASS),
        tuple(
            Reference(tag, _class(pool, names[0]), _member(pool, names[1]))
            for tag, names in entries
            if tag in MEMBERS
        ),
        tuple(_member(pool, names[1]) for tag, names in entries if tag == DYNAMIC_CALL),
    )


Pool = dict[int, tuple[int, tuple]]


def _pool(data: bytes) -> tuple[Pool, int]:
    """The entries by their numbers, and the place after them."""
    (count,) = struct.unpack_from(">H", data, 8)
    pool: Pool = {}
    number, at = 1, 10
    while number < count:
        tag = data[at]
        if tag == UTF8:
            (length,) = struct.unpack_from(">H", data, at + 1)
            pool[number] = (tag, (data[at + 3 : at + 3 + length],))
            at += 3 + length
        else:
            form = FORMS[tag]
            pool[number] = (tag, form.unpack_from(data, at + 1))
            at += 1 + form.size
        number += 2 if tag in WIDE else 1
    return pool, at


def _text(pool: Pool, number: int) -> str:
    return pool[number][1][0].decode("utf-8", "surrogatepass")


def _class(pool: Pool, number: int) -> str:
    return _text(pool, pool[number][1][0])


def _member(pool: Pool, number: int) -> Member:
    name, descriptor = pool[number][1]
    return _text(pool, name), _text(pool, descriptor)


def _members(data: bytes, at: int, pool: Pool) -> tuple[dict[Member, int], int]:
    """The flags of fields or methods, and the place after them."""
    (count,) = struct.unpack_from(">H", data, at)
    found, at = {}, at + 2
    for _ in range(count):
        flags, name, descriptor, attributes = struct.unpack_from(">4H", data, at)
        found[_text(pool, name), _text(pool, descriptor)] = flags
        at += 8
        for _ in range(attributes):
            at += 6 + struct.unpack_from(">I", data, at + 2)[0]
    return found, at


def named(text: str) -> list[str]:
    """The classes in a descriptor; the class itself if the text is the name of one."""
    return re.findall(r"L([^;]+);", text) if text[0] in "([" else [text]
