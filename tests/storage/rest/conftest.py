from collections.abc import Iterator

import pytest

from tests.storage.rest import answering


@pytest.fixture
def server() -> Iterator[answering.Server]:
    with answering.running() as found:
        yield found
