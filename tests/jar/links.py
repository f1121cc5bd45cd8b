"""Whether the classes of a jar link with those of a Spark that it was not compiled against.

A JVM resolves a reference when it first comes to it, so that a method that is gone is found by the
query that needs it. This resolves all of them, as the JVM would. Java's own classes are not read:
a member that could be inherited from one counts as found.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.jar.class_file import (
    ABSTRACT,
    FIELD,
    FINAL,
    INTERFACE,
    INTERFACE_METHOD,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    ClassFile,
    Member,
    Reference,
    named,
    read,
)

OF_JAVA = ("java/", "javax/", "jdk/", "sun/", "org/w3c/", "org/xml/")
# Java's classes whose members are known here: those that most classes inherit from.
KNOWN = {
    "java/lang/Object": {
        "equals(Ljava/lang/Object;)Z",
        "hashCode()I",
        "toString()Ljava/lang/String;",
        "getClass()Ljava/lang/Class;",
        "clone()Ljava/lang/Object;",
        "finalize()V",
        "notify()V",
        "notifyAll()V",
        "wait()V",
    },
    "java/io/Serializable": set(),
    "java/lang/Cloneable": set(),
    "java/lang/AutoCloseable": {"close()V"},
    "java/io/Closeable": {"close()V"},
    "java/lang/Runnable": {"run()V"},
    "java/lang/Comparable": {"compareTo(Ljava/lang/Object;)I"},
}


class Classes:
    """The classes of some jars by their names, each read when it is first asked for."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self.zips = [zipfile.ZipFile(jar) for jar in jars]
        self.places = {
            name.removesuffix(".class"): jar
            for jar in reversed(self.zips)  # as on a class path the first one wins
            for name in jar.namelist()
            if name.endswith(".class") and not name.startswith("META-INF/")
        }
        self.known: dict[str, ClassFile | None] = {}

    def find(self, name: str) -> ClassFile | None:
        if name not in self.known:
            jar = self.places.get(name)
            self.known[name] = read(jar.read(f"{name}.class")) if jar else None
        return self.known[name]

    def of_first(self) -> list[ClassFile]:
        """The classes of the first jar."""
        names = [name for name, jar in self.places.items() if jar is self.zips[0]]
        return [one for one in map(self.find, names) if one is not None]

    def above(self, one: ClassFile) -> Iterator[str]:
        """The class itself and those that it extends, nearest first."""
        name: str | None = one.name
        while name is not None:
            yield name
            found = self.find(name)
            name = found.above if found else None

    def interfaces(self, one: ClassFile) -> list[str]:
        """All interfaces of the class and of those above it."""
        waiting, met = list(self.above(one)), {}
        while waiting:
            found = self.find(waiting.pop(0))
            for name in found.interfaces if found else ():
                if name not in met:
                    met[name] = None
                    waiting.append(name)
        return list(met)

    def ancestors(self, one: ClassFile) -> list[str]:
        return [*self.above(one), *self.interfaces(one)]

    def may_inherit(self, names: Iterable[str], member: Member) -> bool:
        """Whether one of the classes is Java's and may have the member."""
        return any(
            name.startswith(OF_JAVA) and (name not in KNOWN or "".join(member) in KNOWN[name])
            for name in names
        )


def broken(jar: Path, others: Iterable[Path]) -> list[str]:
    """A line for each link of the jar that does not hold among the other jars."""
    classes = Classes([jar, *others])
    ours = [
        classes.find(name) for name, place in classes.places.items() if place is classes.zips[0]
    ]
    lines = {line for one in ours if one for line in _broken(classes, one)}
    return sorted(lines)


def resolved(jar: Path, others: Iterable[Path]) -> int:
    """How many members of classes of the other jars the jar refers to."""
    classes = Classes([jar, *others])
    ours = [
        classes.find(name) for name, place in classes.places.items() if place is classes.zips[0]
    ]
    mine = {one.name for one in ours if one}
    found = {ref for one in ours if one for ref in one.references}
    return sum(ref.owner not in mine and classes.find(ref.owner) is not None for ref in found)


def _broken(classes: Classes, one: ClassFile) -> Iterator[str]:
    for name in {part for text in one.classes for part in named(text)}:
        wrong = _class(classes, one, name)
        if wrong:
            yield f"{one.name}: {wrong}"
    for reference in one.references:
        wrong = _member(classes, one, reference)
        if wrong:
            owner, member = reference.owner, "".join(reference.member)
            yield f"{one.name}: {owner}.{member} {wrong}"
    for wrong in (*_extended(classes, one), *_without_body(classes, one)):
        yield f"{one.name}: {wrong}"
    for name, descriptor in one.lambdas:
        for wrong in _as_lambda(classes, name, descriptor):
            yield f"{one.name}: {wrong}"


def _class(classes: Classes, one: ClassFile, name: str) -> str | None:
    if name.startswith(OF_JAVA):
        return None
    found = classes.find(name)
    if found is None:
        return f"no class {name}"
    is_seen = found.flags & PUBLIC or found.package == one.package
    return None if is_seen else f"class {name} is private to its package"


def _member(classes: Classes, one: ClassFile, reference: Reference) -> str | None:
    owner = classes.find(reference.owner)
    if owner is None:
        return None  # a class of Java's, an array, or one that is missing as a class
    if reference.kind != FIELD and owner.is_interface != (reference.kind == INTERFACE_METHOD):
        return "is of an interface now" if owner.is_interface else "is of a class now"
    if reference.member[0] == "<init>":  # is not inherited
        names = [owner.name]
    else:
        names = [*classes.ancestors(owner), "java/lang/Object"]
    for place in map(classes.find, names):
        members = (place.fields if reference.kind == FIELD else place.methods) if place else {}
        if reference.member in members:
            return _hidden(one, place, members[reference.member])
    return None if classes.may_inherit(names, reference.member) else "does not exist"


def _hidden(one: ClassFile, place: ClassFile, flags: int) -> str | None:
    if flags & PRIVATE and place.name != one.name:
        return "is private"
    if not flags & (PUBLIC | PROTECTED | PRIVATE) and place.package != one.package:
        return "is private to its package"
    return None


def _extended(classes: Classes, one: ClassFile) -> Iterator[str]:
    """What the class extends may be extended, in the way that it does."""
    above = classes.find(one.above) if one.above else None
    if above and above.is_interface:
        yield f"{above.name} is an interface now"
    if above and above.flags & FINAL:
        yield f"{above.name} is final"
    for found in map(classes.find, one.interfaces):
        if found and not found.is_interface:
            yield f"{found.name} is a class now"
    for name in list(classes.above(one))[1:]:
        found = classes.find(name)
        for member in one.methods.keys() & found.methods.keys() if found else ():
            if found.methods[member] & (FINAL | PRIVATE | STATIC) == FINAL:
                yield f"{name}.{''.join(member)} is final"


def _without_body(classes: Classes, one: ClassFile) -> Iterator[str]:
    """The abstract methods of its ancestors that a class which is made has no body for."""
    if one.flags & (ABSTRACT | INTERFACE):
        return
    above, names = list(classes.above(one)), classes.ancestors(one)
    for place in map(classes.find, names):
        for member, flags in place.methods.items() if place else ():
            if flags & ABSTRACT and not _has_body(classes, above, names, member):
                yield f"{place.name}.{''.join(member)} has no body"


def _has_body(classes: Classes, above: list[str], names: list[str], member: Member) -> bool:
    """The nearest method of the classes decides, then any of the interfaces."""
    of_classes = [found for found in map(classes.find, above) if found and member in found.methods]
    if of_classes:
        return not of_classes[0].methods[member] & ABSTRACT
    places = [found for found in map(classes.find, names) if found]
    has_default = any(not place.methods.get(member, ABSTRACT) & ABSTRACT for place in places)
    return has_default or classes.may_inherit(above, member)


def _as_lambda(classes: Classes, name: str, descriptor: str) -> Iterator[str]:
    """A lambda has the body of one method: its interface may have no other abstract ones."""
    kind = classes.find("".join(named("(" + descriptor.rpartition(")")[2])))
    if kind is None or not kind.is_interface:
        return
    names = classes.ancestors(kind)
    for place in map(classes.find, names):
        for member, flags in place.methods.items() if place else ():
            if (
                flags & ABSTRACT
                and member[0] != name
                and not _has_body(classes, [], names, member)
                and "".join(member) not in KNOWN["java/lang/Object"]
            ):
                yield f"{place.name}.{''.join(member)} has no body in a lambda"
