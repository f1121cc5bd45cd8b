"""Paimon's Hive catalog on HDFS, used in turns: `python -m integration.paimon.hive_on_hdfs`.

A real metastore, name nodes and data nodes run on this machine. What ran is printed with seconds;
the first thing that is not as promised ends it.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from pathlib import Path

import pytest

import keyfold
from integration.cluster import hadoop
from integration.cluster.yarn import told
from integration.paimon import gateway, hive_server
from integration.paimon.java_catalog import SHOP, Java, alter, drop_all, rows, take_turns
from integration.paimon.library import library
from keyfold.errors import NotSupportedError


def main() -> None:
    """All of it, on servers of its own."""
    since = time.monotonic()
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # the metastore serves until it is killed
    with (
        tempfile.TemporaryDirectory(prefix="hive-", dir=os.environ.get("TMPDIR")) as name,
        hadoop.running(Path(name)) as cluster,
        gateway.started(library().parent) as java,
    ):
        uri = hive_server.started(java, Path(name))
        since = told("two name nodes, two data nodes and a metastore", since)
        options = {"metastore": "hive", "uri": uri, "warehouse": f"{cluster.uri}/lake"}
        theirs = Java(java, options)
        take_turns(theirs)
        since = told("each side made a table; both read and wrote both", since)
        _altered_and_dropped(theirs)
        told("ALTER by each side; RENAME was refused here; DROP by each side", since)


def _altered_and_dropped(theirs: Java) -> None:
    ours = keyfold.connect(**theirs.options)
    alter(theirs, "ours")
    assert rows(theirs.options, "ours") == {1: "a", 2: "b"}
    with pytest.raises(NotSupportedError, match="keyfold makes no use"):
        ours.rename_table(f"{SHOP}.ours", f"{SHOP}.other")
    ours.drop_table(f"{SHOP}.theirs")
    drop_all(theirs, "ours")


if __name__ == "__main__":
    main()
