"""One server of each kind of object store for all tests of this folder."""

import os
from collections.abc import Iterator

import pytest

from tests.stores import kinds, server


@pytest.fixture(scope="session")
def moto() -> Iterator[dict[str, str]]:
    """Options of a catalog on the server that is S3's and Google's."""
    with server.started() as options:
        yield options


@pytest.fixture(scope="session", params=kinds.KINDS)
def served(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Options of a catalog on the server of a kind."""
    if request.param == "google":
        options = server.google(request.getfixturevalue("moto"))
        yield options | {"warehouse": f"{options['warehouse']}/google"}
    elif request.param == "s3" and server.OTHER not in os.environ:
        yield request.getfixturevalue("moto")
    else:
        with kinds.running(request.param) as options:
            yield options


@pytest.fixture
def options(served: dict[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    """The same with a warehouse of the test's own."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return served | {"warehouse": f"{served['warehouse']}/{name}"}
