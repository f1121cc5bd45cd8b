"""What the tests of clusters and of the wheel share."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import wheels


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of this checkout in which nothing was built."""
    return wheels.build(tmp_path_factory.mktemp("wheel"))
