"""Settings of the session that asks: a misspelt one is refused with any question."""

import pytest

from keyfold.errors import TableError
from keyfold.questions.serve import check_settings


def test_known_settings() -> None:
    names = ["spark.keyfold.worker.memory", "spark.keyfold.session.python"]
    check_settings({"question": "x", "code": {"settings": names}})
    check_settings({"question": "x", "code": None})
    check_settings({"question": "x"})


def test_a_misspelt_setting_is_refused() -> None:
    names = ["spark.keyfold.python", "spark.keyfold.worker.memry"]
    said = r"spark\.keyfold\.worker\.memry of the session is unknown; .*keyfold\.worker\.memory"
    with pytest.raises(TableError, match=said):
        check_settings({"question": "x", "code": {"settings": names}})
