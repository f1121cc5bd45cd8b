"""Every private name of pypaimon we use is still there; a missing one is named."""

import pytest

from keyfold.errors import EnvironmentMismatchError
from keyfold.storage import paimon


@pytest.mark.parametrize("name", sorted(paimon.USED))
def test_name_exists(name: str) -> None:
    assert paimon.resolve(name) is not None


def test_a_missing_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(paimon.USED, "Gone", ("pypaimon.snapshot.snapshot", "NoSuchThing"))
    with pytest.raises(EnvironmentMismatchError, match=r"pypaimon 2\.\S+ lacks .*NoSuchThing"):
        paimon.resolve("Gone")


def test_snapshot_fields() -> None:
    expected = {"base_manifest_list", "delta_manifest_list", "commit_user", "uuid", "watermark"}
    assert expected <= set(paimon.Snapshot.__dataclass_fields__)


def test_manifest_schemas() -> None:
    entry = {field["name"] for field in paimon.MANIFEST_ENTRY_SCHEMA["fields"]}
    assert entry == {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"}
    listed = {field["name"] for field in paimon.MANIFEST_LIST_SCHEMA["fields"]}
    assert {"_FILE_NAME", "_NUM_ADDED_FILES", "_PARTITION_STATS", "_TOTAL_BUCKETS"} <= listed
