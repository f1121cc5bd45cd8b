"""What the tests of clusters and of the wheel share."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pyspark
import pytest

from integration import TOP
from integration.release import packages
from keyfold.wire.version import package_version

# The jar is compiled against the oldest Spark alone; newer ones run that of the checkout.
COMPILES = pyspark.__version__.startswith("4.2.")
JAR = TOP / "python/keyfold/jars" / f"keyfold-{package_version()}.jar"


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of this checkout in which nothing was built; one process of a run builds
    it, others wait for it.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "wheel"
    with folder.with_name("wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            packages.build(folder, None if COMPILES else JAR)
    (wheel,) = folder.glob("*.whl")
    return wheel
