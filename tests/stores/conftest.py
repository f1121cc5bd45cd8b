"""One server of each kind of object store for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.stores import kinds


@pytest.fixture(scope="session", params=kinds.KINDS)
def served(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Options of a catalog on the server."""
    with kinds.running(request.param) as options:
        yield options


@pytest.fixture
def options(served: dict[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    """The same with a warehouse of the test's own."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return served | {"warehouse": f"{served['warehouse']}/{name}"}
