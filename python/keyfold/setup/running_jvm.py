"""The JVM that already runs: under spark-submit, in a notebook, behind Spark Connect.

No jar can be added to it and, once there is a session, no session extension. So it is asked whether
it has them. pyspark is used only if the caller has imported it.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from keyfold.errors import EnvironmentMismatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class RunningJvm:
    """A JVM: what started it, whether it has a session, whether it has a session extension's class.

    `extensions` are those that its next session would get. `remedy` is what else a user can do. On
    another machine (`is_remote`) this program's Python means nothing.
    """

    described: str
    has_session: bool
    has_extension: Callable[[str], bool]
    extensions: str = ""
    remedy: str = ""
    is_remote: bool = False


def find(builder: "SparkSession.Builder") -> RunningJvm | None:
    """The JVM this builder will get its session from, or None if it will start one."""
    remote = builder._options.get("spark.remote", os.environ.get("SPARK_REMOTE"))
    if remote is not None and not str(remote).startswith("local"):
        return RunningJvm(
            f"the Spark Connect server {remote}",
            True,
            lambda name: remote_has(builder, name),
            is_remote=True,
        )
    context: Any = sys.modules["pyspark"].SparkContext
    active = context._active_spark_context
    if active is not None:
        extensions = active.getConf().get("spark.sql.extensions", "")
        return RunningJvm(
            "this SparkContext", True, lambda name: name in extensions, extensions, remedy()
        )
    if context._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    context._ensure_initialized()
    jvm = context._jvm
    set_already = jvm.java.lang.System.getProperty("spark.sql.extensions") or ""
    return RunningJvm(
        "the JVM of this spark-submit", False, lambda name: has_class(jvm, name), set_already
    )


def remedy() -> str:
    """Advice for a program that starts Spark itself: it can do so after `configure`."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return ""
    return "call keyfold.configure(builder) before the program's first getOrCreate(), or "


def remote_has(builder: "SparkSession.Builder", extension: str) -> bool:
    """Whether the Connect server's sessions have the extension (static confs can be read there)."""
    extensions = builder.getOrCreate().conf.get("spark.sql.extensions", "")
    return extension in str(extensions)


def has_class(jvm: Any, name: str) -> bool:
    """Whether a class of that name is on the JVM's class path."""
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    except Exception:  # py4j wraps ClassNotFoundException, and py4j is not imported here
        return False
    return True


def check(jvm: RunningJvm, extension: str, arguments: str) -> None:
    """Raises EnvironmentMismatchError, with the `arguments` to use, if it lacks the extension."""
    if not jvm.has_extension(extension):
        raise EnvironmentMismatchError(
            f"{jvm.described} already runs and was started without keyfold, whose jar and session "
            f"extension can't be added any more; {jvm.remedy}start it with\n  {arguments}"
        )
