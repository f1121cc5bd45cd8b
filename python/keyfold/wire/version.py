"""The version of the installed package, which jar and wheel compare at the first call.

The repository has it once, in gradle.properties; the build writes it into the package's
metadata and into the jar.
"""

import sys
from functools import cache
from importlib import metadata

from keyfold.errors import EnvironmentMismatchError

PROTOCOL = 2


@cache
def package_version() -> str:
    """The version of the keyfold distribution that this interpreter has installed."""
    try:
        return metadata.version("keyfold")
    except metadata.PackageNotFoundError:
        raise EnvironmentMismatchError(
            f"{sys.executable} can import keyfold, but has it not installed, so its version is "
            "unknown; install it there with pip (from a clone: pip install --editable .), or name "
            "another Python: spark.keyfold.python, spark.keyfold.driver.python"
        ) from None
