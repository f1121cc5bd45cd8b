"""Nothing beside a table's folder is reached from inside it."""

from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError
from keyfold.stores.no_links import reached


@pytest.mark.parametrize(
    "path", ["../secret", "bucket-0/../../secret", "bucket-0/..", "..", "../t-beside/data"]
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "t"
    (root / "bucket-0").mkdir(parents=True)
    (tmp_path / "secret").write_text("theirs")
    with (
        pytest.raises(CorruptDataError, match="is not below"),
        reached(str(root), f"{root}/{path}"),
    ):
        pass


def test_a_folder_whose_name_begins_alike_is_another(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    beside = f"{tmp_path}/table/data"
    with pytest.raises(CorruptDataError, match="is not below"), reached(str(root), beside):
        pass


def test_what_is_below_is_reached(tmp_path: Path) -> None:
    (tmp_path / "bucket-0").mkdir()
    (tmp_path / "bucket-0" / "data").write_text("ours")
    with reached(str(tmp_path), f"{tmp_path}/bucket-0/data") as path:
        assert Path(path).read_text() == "ours"
