"""The jar links with the Spark that is installed and, where `make build/spark/.installed` put its
jars, with the other version that keyfold runs on.
"""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.jar.class_file import (
    ABSTRACT,
    FIELD,
    FINAL,
    INTERFACE,
    INTERFACE_METHOD,
    METHOD,
    PRIVATE,
    PUBLIC,
    Reference,
)
from tests.jar.class_writer import class_file
from tests.jar.links import broken, resolved

TOP = Path(__file__).resolve().parents[2]
JAR = next((TOP / "python/keyfold/jars").glob("keyfold-*.jar"))
SPARKS = [
    Path(importlib.util.find_spec("pyspark").origin).parent,
    *(TOP / "build/spark").glob("lib/python3.*/site-packages/pyspark"),
]
RUN = ("run", "()V")
ABSTRACT_RUN = {RUN: PUBLIC | ABSTRACT}
AS_INTERFACE = PUBLIC | INTERFACE | ABSTRACT
MAKES = Reference(METHOD, "spark/Plan", ("<init>", "(I)V"))
PLAN = class_file("spark/Plan", methods={MAKES.member: PUBLIC})
RUNS = class_file("spark/Runs", flags=AS_INTERFACE, methods=ABSTRACT_RUN)


@pytest.mark.parametrize("spark", SPARKS, ids=lambda at: at.parts[-5])
def test_the_jar_links(spark: Path) -> None:
    jars = sorted((spark / "jars").glob("*.jar"))
    assert broken(JAR, jars) == []
    assert resolved(JAR, jars) > 2000


def pack(at: Path, classes: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(at, "w") as jar:
        for name, data in classes.items():
            jar.writestr(f"{name}.class", data)
    return at


@pytest.mark.parametrize(
    ("ours", "theirs", "line"),
    [
        pytest.param(
            class_file("ours/One", references=[MAKES]), {"spark/Plan": PLAN}, None, id="links"
        ),
        pytest.param(
            class_file("ours/One", above="spark/Gone"),
            {},
            "no class spark/Gone",
            id="missing class",
        ),
        pytest.param(
            class_file("ours/One", references=[MAKES]),
            {"spark/Plan": class_file("spark/Plan", methods={("<init>", "(IZ)V"): PUBLIC})},
            "spark/Plan.<init>(I)V does not exist",
            id="another descriptor",
        ),
        pytest.param(
            class_file("ours/One", references=[Reference(METHOD, "spark/Below", MAKES.member)]),
            {"spark/Below": class_file("spark/Below", above="spark/Plan"), "spark/Plan": PLAN},
            "spark/Below.<init>(I)V does not exist",
            id="constructor of the class above",
        ),
        pytest.param(
            class_file("ours/One", references=[Reference(FIELD, "spark/Plan", ("MODULE$", "I"))]),
            {"spark/Plan": PLAN},
            "spark/Plan.MODULE$I does not exist",
            id="missing field",
        ),
        pytest.param(
            class_file("ours/One", references=[MAKES]),
            {"spark/Plan": class_file("spark/Plan", methods={MAKES.member: PRIVATE})},
            "spark/Plan.<init>(I)V is private",
            id="private",
        ),
        pytest.param(
            class_file("ours/One", references=[MAKES]),
            {"spark/Plan": class_file("spark/Plan", methods={MAKES.member: 0})},
            "spark/Plan.<init>(I)V is private to its package",
            id="private to a package",
        ),
        pytest.param(
            class_file("ours/One", above="spark/Plan"),
            {"spark/Plan": class_file("spark/Plan", flags=0)},
            "class spark/Plan is private to its package",
            id="class private to a package",
        ),
        pytest.param(
            class_file("ours/One", references=[Reference(METHOD, "spark/Runs", RUN)]),
            {"spark/Runs": RUNS},
            "spark/Runs.run()V is of an interface now",
            id="class turned interface",
        ),
        pytest.param(
            class_file("ours/One", references=[Reference(INTERFACE_METHOD, "spark/Plan", RUN)]),
            {"spark/Plan": PLAN},
            "spark/Plan.run()V is of a class now",
            id="interface turned class",
        ),
        pytest.param(
            class_file("ours/One", above="spark/Runs"),
            {"spark/Runs": class_file("spark/Runs", flags=AS_INTERFACE)},
            "spark/Runs is an interface now",
            id="superclass turned interface",
        ),
        pytest.param(
            class_file("ours/One", interfaces=["spark/Plan"]),
            {"spark/Plan": PLAN},
            "spark/Plan is a class now",
            id="own interface turned class",
        ),
        pytest.param(
            class_file("ours/One", above="spark/Plan"),
            {"spark/Plan": class_file("spark/Plan", flags=PUBLIC | FINAL)},
            "spark/Plan is final",
            id="final class",
        ),
        pytest.param(
            class_file("ours/One", above="spark/Plan", methods={RUN: PUBLIC}),
            {"spark/Plan": class_file("spark/Plan", methods={RUN: PUBLIC | FINAL})},
            "spark/Plan.run()V is final",
            id="final method",
        ),
        pytest.param(
            class_file("ours/One", interfaces=["spark/Runs"]),
            {"spark/Runs": RUNS},
            "spark/Runs.run()V has no body",
            id="abstract method of an interface",
        ),
        pytest.param(
            class_file("ours/One", above="spark/Base"),
            {"spark/Base": class_file("spark/Base", flags=PUBLIC | ABSTRACT, methods=ABSTRACT_RUN)},
            "spark/Base.run()V has no body",
            id="abstract method of a class",
        ),
        pytest.param(
            class_file("ours/One", lambdas=[("call", "()Lspark/Runs;")]),
            {"spark/Runs": RUNS},
            "spark/Runs.run()V has no body in a lambda",
            id="second method of a lambda",
        ),
        pytest.param(
            class_file("ours/One", interfaces=["spark/Runs", "spark/Default"]),
            {
                "spark/Runs": RUNS,
                "spark/Default": class_file(
                    "spark/Default",
                    flags=AS_INTERFACE,
                    interfaces=["spark/Runs"],
                    methods={RUN: PUBLIC},
                ),
            },
            None,
            id="body of an interface",
        ),
    ],
)
def test_what_breaks_a_link(
    tmp_path: Path, ours: bytes, theirs: Mapping[str, bytes], line: str | None
) -> None:
    jar = pack(tmp_path / "ours.jar", {"ours/One": ours})
    spark = pack(tmp_path / "spark.jar", theirs)
    assert broken(jar, [spark]) == ([f"ours/One: {line}"] if line else [])


def test_a_method_that_is_inherited_links(tmp_path: Path) -> None:
    """From a class, an interface, and perhaps from Java's; a hidden one of its own package too."""
    asked = [
        Reference(METHOD, "spark/Below", member)
        for member in (RUN, ("hashCode", "()I"), ("close", "()V"))
    ]
    below = class_file("spark/Below", above="spark/Plan", interfaces=["spark/Runs"], methods={})
    theirs = {"spark/Below": below, "spark/Plan": PLAN, "spark/Runs": RUNS}
    jar = pack(tmp_path / "ours.jar", {"ours/One": class_file("ours/One", references=asked)})
    spark = pack(tmp_path / "spark.jar", theirs)
    assert broken(jar, [spark]) == ["ours/One: spark/Below.close()V does not exist"]
    stream = class_file("spark/Plan", above="java/io/InputStream", methods={MAKES.member: PUBLIC})
    spark = pack(tmp_path / "spark.jar", theirs | {"spark/Plan": stream})
    assert broken(jar, [spark]) == []
