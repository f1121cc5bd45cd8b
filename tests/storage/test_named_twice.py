"""A manifest that a list names twice, or a file that is twice in a manifest, is damage: it would be
read twice, and its rows would count twice.
"""

from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.live_files import live_of
from keyfold.storage.table import Table
from tests.read import harness
from tests.storage import tables
from tests.storage.crafted import Metadata


def made(folder: Path) -> Table:
    """A table of two commits."""
    found = tables.table(folder, tables.new_table(bucket="1"))
    for key in (1, 2):
        harness.upsert(found, [{"k": key, "v": 1}])
        found = tables.reload(found)
    return found


@pytest.mark.parametrize("which", ["baseManifestList", "deltaManifestList"])
@pytest.mark.parametrize(("within", "words"), [(False, "is named again"), (True, "is in it twice")])
def test_the_error_names_it(tmp_path: Path, which: str, within: bool, words: str) -> None:
    found = made(tmp_path)
    Metadata(found).again(which, within=within)
    with pytest.raises(CorruptDataError, match=rf"manifest.* can't be read: .*{words}"):
        found.manifests.live(found.snapshots.latest())


def test_a_manifest_in_both_lists_is_named(tmp_path: Path) -> None:
    found = made(tmp_path)
    metadata = Metadata(found)
    stored = metadata.snapshot
    metadata.say(
        baseManifestList=stored["deltaManifestList"],
        baseManifestListSize=stored["deltaManifestListSize"],
    )
    with pytest.raises(CorruptDataError, match="is named again, expected each once"):
        found.manifests.live(found.snapshots.latest())


def test_two_manifests_do_not_add_one_file(tmp_path: Path) -> None:
    found = made(tmp_path)
    manifests = found.manifests
    decoded = [manifests.decoded(one) for one in manifests.listed(found.snapshots.latest())]
    assert len(live_of(decoded)) == 2
    with pytest.raises(CorruptDataError, match=r"data file .* is added by two manifests"):
        live_of([*decoded, decoded[0]])
