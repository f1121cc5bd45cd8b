"""Locations that can't be a warehouse: refused with the reason, at once or in a bounded time."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from keyfold.errors import EnvironmentMismatchError, NotSupportedError, TableError
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.stores import opened
from keyfold.stores.files import Files

SILENT = """
from keyfold.errors import EnvironmentMismatchError
from keyfold.stores import opened
opened.ANSWER_SECONDS = 0.2
try:
    opened.open_files("gs://bucket/lake", {})
except EnvironmentMismatchError as error:
    print(error)
"""


@pytest.mark.parametrize("below", ["", "/lake", "/lake/deeper"])
@pytest.mark.parametrize("form", ["{}", "file:{}"])
def test_a_file_is_no_warehouse(tmp_path: Path, form: str, below: str) -> None:
    (tmp_path / "file").touch()
    where = form.format(tmp_path / "file") + below
    with pytest.raises(TableError, match=r"file is a file; name another folder .*warehouse"):
        open_catalog("lake", {"warehouse": where})


@pytest.mark.parametrize("scheme", ["oss", "adl", "wasb", "cos", "http", "ftp", "dbfs"])
def test_stores_that_are_not_supported_are_refused_by_name(scheme: str) -> None:
    with pytest.raises(NotSupportedError, match=f"{scheme}:// are not supported; expected .*s3://"):
        open_catalog("lake", {"warehouse": f"{scheme}://place/lake"})


def test_hadoop_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "ANSWER_SECONDS", 0.2)
    with pytest.raises(EnvironmentMismatchError, match=r"hdfs://.* reached .*HADOOP_CONF_DIR"):
        open_catalog("lake", {"warehouse": "hdfs://127.0.0.1:1/lake"})


def test_hadoop_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(EnvironmentMismatchError, match=r"pip install 'keyfold\[hdfs\]'"):
        open_catalog("lake", {"warehouse": "hdfs://127.0.0.1:2/lake"})


def test_a_store_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    """It takes the connection and says nothing; the client would try for minutes."""
    key = tmp_path / "key.json"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}"
        names = ("client_email", "private_key", "private_key_id")
        login = {"gcs_base_url": place, "disable_oauth": True} | dict.fromkeys(names, "")
        key.write_text(json.dumps(login))
        done = subprocess.run(
            [sys.executable, "-c", SILENT],
            env=os.environ
            | {
                "GOOGLE_SERVICE_ACCOUNT": str(key),
                "PYTHONPATH": str(Path(opened.__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    assert "gs://bucket/lake can't be reached (TimeoutError: no answer" in done.stdout
    assert "GOOGLE_APPLICATION_CREDENTIALS" in done.stdout


def test_tables_with_logins_of_their_own_keep_their_clients() -> None:
    """As a REST server hands them out."""

    def opened_once_more() -> list[Files]:
        logins = ({"session_token": f"{number}"} for number in range(200))
        return [opened.store_of("s3://bucket/lake/t", login) for login in logins]

    before = opened_once_more()
    again = opened_once_more()
    assert all(one is other for one, other in zip(before, again, strict=True))
