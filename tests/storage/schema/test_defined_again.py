"""ALTER TABLE as Spark's pipelines ask for it: a table is defined once more at each run."""

from pathlib import Path

import pytest

from keyfold.errors import KeyfoldError
from keyfold.storage.schema.definition import NewTable
from tests.storage import tables
from tests.storage.schema.test_alter import add, alter, null, put
from tests.storage.tables import column

CDC_KEYS = "pipelines.autocdc.keyColumnNames"


def test_a_flow_that_keeps_several_rows_of_a_key_is_refused(tmp_path: Path) -> None:
    """Else it would fail days later, at the first two late events of a key."""
    flow = {CDC_KEYS: '["k"]', "pipelines.autocdc.scdType": "SCD1"}
    columns = (column("k"), column("v"))
    assert tables.table(tmp_path, NewTable(columns, properties=flow)).layout.primary_key == ("k",)
    flow["pipelines.autocdc.scdType"] = "SCD2"
    with pytest.raises(KeyfoldError, match=r"SCD type 2 is not supported: .*stored_as_scd_type=1"):
        tables.table(tmp_path / "other", NewTable(columns, properties=flow))


@pytest.mark.parametrize("key", [("primary-key", "k , v"), (CDC_KEYS, '["k", "v"]')])
def test_a_table_that_a_pipeline_defines_again(tmp_path: Path, key: tuple[str, str]) -> None:
    """It names all properties once more, and columns of the key that are NOT NULL only here. A
    statement, and a pipeline of columns that are no key, are taken at their word.
    """
    named = NewTable((column("k"), column("v"), column("w")), properties=dict([key]))
    found = tables.table(tmp_path, named)
    assert found.layout.primary_key == ("k", "v")
    said = {"is_statement": False}
    again = [
        null(["k"], True) | said,
        null("v", True) | said,
        put("provider", "keyfold"),
        put(*key),
    ]
    altered = alter(found, *again, put("pipelines.reset.allowed", "false"), add("x"))
    assert altered.layout.nullable_key == (False, False)
    assert altered.layout.options["pipelines.reset.allowed"] == "false"
    assert altered.layout.has_column("x")
    asked = alter(found, null("x", False) | said)
    assert not asked.layout.column("x").type.nullable
    for other in (put("primary-key", "k"), put(CDC_KEYS, '["k"]'), put("provider", "csv")):
        with pytest.raises(KeyfoldError, match="can't be changed"):
            alter(found, null("v", True) | said, other)
    with pytest.raises(KeyfoldError, match="column v: it is part of the primary key"):
        alter(found, null("v", True) | {"is_statement": True}, put(*key))
    with pytest.raises(KeyfoldError, match="expected a JSON array of names, found 'k'"):
        alter(found, put(CDC_KEYS, "k"))
