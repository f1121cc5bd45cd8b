"""Class files without code, for tests: `class_file` writes what tests/jar/class_file.py reads."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from tests.jar.class_file import CLASS, DYNAMIC_CALL, NAME_AND_TYPE, PUBLIC, UTF8, Member, Reference


class _Pool:
    """The constants of one class, each once."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}

    def add(self, tag: int, content: bytes) -> int:
        return self.numbers.setdefault(bytes([tag]) + content, len(self.numbers) + 1)

    def text(self, text: str) -> int:
        return self.add(UTF8, struct.pack(">H", len(text)) + text.encode())

    def of_class(self, name: str) -> int:
        return self.add(CLASS, struct.pack(">H", self.text(name)))

    def member(self, member: Member) -> int:
        return self.add(NAME_AND_TYPE, struct.pack(">2H", *map(self.text, member)))


def class_file(
    name: str,
    *,
    flags: int = PUBLIC,
    above: str = "java/lang/Object",
    interfaces: Iterable[str] = (),
    fields: Mapping[Member, int] | None = None,
    methods: Mapping[Member, int] | None = None,
    references: Iterable[Reference] = (),
    lambdas: Iterable[Member] = (),
) -> bytes:
    """The bytes of a class with these links."""
    pool = _Pool()
    head = [flags, pool.of_class(name), pool.of_class(above)]
    named = [pool.of_class(one) for one in interfaces]
    for one in references:
        pool.add(one.kind, struct.pack(">2H", pool.of_class(one.owner), pool.member(one.member)))
    for member in lambdas:
        pool.add(DYNAMIC_CALL, struct.pack(">2H", 0, pool.member(member)))
    words = [*head, len(named), *named]
    for members in (fields or {}, methods or {}):
        words.append(len(members))
        for member, own in members.items():
            words += [own, *map(pool.text, member), 0]
    body = struct.pack(f">{len(words) + 1}H", *words, 0)
    constants = b"".join(pool.numbers)
    return struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(pool.numbers) + 1) + constants + body
