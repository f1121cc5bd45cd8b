"""One S3 server for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.stores import server


@pytest.fixture(scope="session")
def served() -> Iterator[dict[str, str]]:
    """Options of a catalog on the server."""
    with server.running() as options:
        yield options


@pytest.fixture
def options(served: dict[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    """The same with a warehouse of the test's own."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return served | {"warehouse": f"{served['warehouse']}/{name}"}
