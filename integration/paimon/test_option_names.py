"""Each option of a table that Paimon's Java library declares is known here: it is honoured, has no
effect, or is refused by its name.
"""

from __future__ import annotations

from pathlib import Path

from integration.paimon import gateway
from keyfold.options.declared import known
from keyfold.options.paimon import PAIMON_OPTIONS, TUNING


def test_no_option_of_paimon_is_unknown(tmp_path: Path) -> None:
    with gateway.started(tmp_path) as java:
        declared = java.jvm.org.apache.paimon.CoreOptions.getOptions()
        names = {option.key() for option in declared}
    assert len(names) > 250
    assert names - PAIMON_OPTIONS - set(known()) == set()
    assert TUNING.isdisjoint(known())
