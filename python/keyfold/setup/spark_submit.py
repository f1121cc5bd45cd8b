"""The settings that a JVM started by pyspark gets besides the builder's confs: PYSPARK_SUBMIT_ARGS,
else spark-defaults.conf. A builder's conf replaces theirs, so lists are looked up here first.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
OPTIONS = {"--jars": "spark.jars"}
CONF = ("--conf", "-c")
LINE = re.compile(r"^\s*([^\s=:#!]+)\s*[\s=:]\s*(.*?)\s*$")


def setting(name: str) -> str:
    """The value set for `name`; "" if it is not set."""
    found = [value for key, value in (*defaults(), *arguments()) if key == name]
    return found[-1] if found else ""


def add_jar(jar: str) -> None:
    """Add the jar to `--jars` of PYSPARK_SUBMIT_ARGS, if present: that would hide spark.jars."""
    words = shlex.split(os.environ.get(ARGUMENTS, ""))
    listed = [n for n, word in enumerate(words) if word.partition("=")[0] == "--jars"]
    if not listed:
        return
    for n in listed:
        at = n if "=" in words[n] else n + 1
        words[at] = with_entry(words[at], jar)
    os.environ[ARGUMENTS] = shlex.join(words)


def with_entry(listed: str, entry: str) -> str:
    """A comma-separated list with one more entry, unless it has it."""
    entries = [e.strip() for e in listed.split(",") if e.strip()]
    return ",".join(entries if entry in entries else [*entries, entry])


def arguments() -> Iterator[tuple[str, str]]:
    """Names and values that PYSPARK_SUBMIT_ARGS gives, as confs."""
    words = iter(shlex.split(os.environ.get(ARGUMENTS, "")))
    for word in words:
        option, equals, value = word.partition("=")
        if option in (*CONF, *OPTIONS):
            value = value if equals else next(words, "")
            name, _, of_conf = value.partition("=")
            yield (name, of_conf) if option in CONF else (OPTIONS[option], value)


def defaults() -> Iterator[tuple[str, str]]:
    """Names and values of spark-defaults.conf."""
    try:
        lines = (conf_folder() / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        if (found := LINE.match(line)) is not None:
            yield found.group(1), found.group(2)


def conf_folder() -> Path:
    """SPARK_CONF_DIR, else conf/ of SPARK_HOME, else that of the imported pyspark."""
    named = os.environ.get("SPARK_CONF_DIR")
    if named:
        return Path(named)
    module = getattr(sys.modules.get("pyspark"), "__file__", None) or ""
    return Path(os.environ.get("SPARK_HOME") or Path(module).parent) / "conf"
