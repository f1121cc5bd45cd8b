"""Compaction, rescaling, expiry, orphans and health, and the command line."""

import json
import os
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import CorruptDataError, Table, TableError
from keyfold.__main__ import main
from keyfold.compact import rewrite as compaction
from keyfold.procedures import procedures
from keyfold.tables.arguments import COMMANDS
from tests.option_names import option_names

COLUMNS = {"p": "INT", "k": "INT", "v": "STRING"}


def made(folder: Path, **options: str) -> Table:
    names = option_names(options)
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], {"bucket": "2"} | names)


def filled(table: Table, runs: int) -> dict[int, str]:
    for run in range(runs):
        table.upsert([{"p": k % 2, "k": k, "v": f"{run}"} for k in range(run, 40)])
    return {k: f"{min(k, runs - 1)}" for k in range(40)}


def rows_of(table: Table) -> dict[int, str]:
    return {row["k"]: row["v"] for row in table.scan().to_pylist()}


def test_compaction(tmp_path: Path) -> None:
    table = made(tmp_path, write_only="true")
    wanted = filled(table, 4)
    found = table.compact(where="p = 1").to_pylist()
    assert {row["partition"] for row in found} == {"p=1"}
    assert {row["status"] for row in found} == {"committed"}
    assert sum(row["rows_after"] for row in found) == 20
    assert sum(row["rows_before"] for row in found) > 20
    assert len(table.compact().to_pylist()) == 2
    assert rows_of(table) == wanted
    assert table.compact().num_rows == 0
    assert set(table.health().column("runs").to_pylist()) == {1}
    for wrong in ({"strategy": "some"}, {"max_bytes": 0}, {"partitions": "no"}):
        with pytest.raises(TableError):
            table.compact(**wrong)  # type: ignore[arg-type]


def test_files_that_only_change_their_level_are_kept(tmp_path: Path) -> None:
    """The rows of a compaction have all rows that it left in place, merged or not."""
    catalog = keyfold.connect(tmp_path, threads=2)
    options = {"bucket": "1", "write-only": "true", "target-file-size": "1 b"}
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"], options=options)
    table.upsert([{"k": k, "v": 1} for k in range(50)])
    (alone,) = table.compact().to_pylist()
    assert alone["rows_after"] == 50
    assert all(alone[f"{name}_after"] == alone[f"{name}_before"] for name in ("files", "bytes"))
    for keys in (range(100, 120), range(200, 220), range(200, 230)):  # the last two overlap
        table.upsert([{"k": k, "v": 2} for k in keys])
    (some,) = table.compact().to_pylist()
    assert (some["files_before"], some["files_after"]) == (3, 2)
    assert (some["rows_before"], some["rows_after"]) == (70, 50)
    live = [row for row in table.files().to_pylist() if row["min_key"] != "[0]"]
    assert sum(row["file_size_in_bytes"] for row in live) == some["bytes_after"]


def test_writes_compact_as_in_spark(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter(options={"num-sorted-run.compaction-trigger": "3"})
    wanted = filled(table, 8)
    assert rows_of(table) == wanted
    assert max(table.health().column("runs").to_pylist()) <= 3
    assert "COMPACT" in table.snapshots().column("commit_kind").to_pylist()


def test_a_task_that_fails_leaves_its_bucket_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, write_only="true")
    wanted, original = filled(table, 3), compaction.write_files

    def failing(target: Any, directory: str, *more: Any) -> Any:
        if directory.endswith("p=1/bucket-0"):
            raise OSError("no space left")
        return original(target, directory, *more)

    monkeypatch.setattr(compaction, "write_files", failing)
    found = table.compact().to_pylist()
    failed = [(row["partition"], row["bucket"]) for row in found if row["status"] == "failed"]
    assert failed == [("p=1", 0)]
    assert [row["status"] for row in found].count("committed") == 3
    assert rows_of(table) == wanted
    live = set(table.files().column("file_path").to_pylist())
    dropped = {str(path) for path in Path(table.location).rglob("*.parquet")} - live
    assert table.expire(retain_max=1, retain_min=1) == 3
    assert not [path for path in dropped if Path(path).exists()]


def test_rescale_expire_and_orphans(tmp_path: Path) -> None:
    table = made(tmp_path)
    wanted = filled(table, 3)
    assert table.rescale(5)["rows"] == 40
    assert (table.options["bucket"], rows_of(table)) == ("5", wanted)
    before = table.snapshots().num_rows
    assert table.expire(retain_max=1, retain_min=1) == before - 1
    orphan = Path(table.location, "p=1", "bucket-0", f"data-{uuid.uuid4()}-0.parquet")
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"x" * 5)
    old = (datetime.now(timezone.utc) - timedelta(days=9)).timestamp()
    os.utime(orphan, (old, old))
    found = table.remove_orphans(dry_run=True).to_pylist()
    assert found == [{"path": str(orphan), "bytes": 5}]
    assert orphan.exists()
    assert table.remove_orphans().num_rows == 1
    assert not orphan.exists()
    assert rows_of(table) == wanted


def test_metadata(tmp_path: Path) -> None:
    table = made(tmp_path)
    filled(table, 2)
    assert table.snapshots().num_rows == 2
    assert table.files().num_rows == len(list(Path(table.location).rglob("*.parquet")))
    assert sorted(table.metadata("partitions").column("record_count").to_pylist()) == [39, 40]
    with pytest.raises(TableError, match="no metadata table x; there are snapshots"):
        table.metadata("x")


def test_what_is_printed_names_the_table(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    table.upsert([{"k": 1, "v": 2}])
    assert repr(catalog) == f"<keyfold catalog keyfold at {tmp_path}>"
    assert repr(table) == f"<keyfold table {table.name}>"
    assert repr(table.tags) == f"<tags of keyfold table {table.name}>"
    assert repr(table.branches) == f"<branches of keyfold table {table.name}>"
    shown = f"<scan of keyfold table {table.name} at snapshot 1: k, v"
    assert repr(table.scan()) == f"{shown}>"
    assert repr(table.scan(where="k > 0", limit=3)) == f"{shown} where k > 0 limit 3>"
    assert repr(table.scan(where=pc.field("k") + 1 > 2)).endswith(" where (add_checked(k, 1) > 2)>")
    with pytest.raises(TableError, match=r"in Python primary_key=\['column'\]"):
        catalog.create_table("keyless", {"k": "INT"}, [])


class Commands:
    """Runs commands on a warehouse, and gives what they print."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.warehouse, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def text(self, *words: str) -> str:
        code, out, err = self.outcome(*words)
        return out if code == 0 else f"{code} {err}"

    def outcome(self, *words: str) -> tuple[int, str, str]:
        line = ["keyfold", *words, "--warehouse", str(self.warehouse)]
        self._monkeypatch.setattr("sys.argv", line)
        code, printed = main(), self._capsys.readouterr()
        return code, printed.out, printed.err

    def rows(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text(*words, "--json").splitlines()]


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    return Commands(tmp_path / "warehouse", monkeypatch, capsys)


def test_commands(commands: Commands, tmp_path: Path) -> None:
    schema = "sku STRING, qty BIGINT, price DECIMAL(6,2)"
    assert commands.rows("create", "stock", schema, "--key", "sku")[0]["table"].endswith(".stock")
    assert commands.rows("ls") == [{"namespace": "default"}]
    assert commands.rows("ls", "default") == [{"table": "stock"}]
    pq.write_table(pa.table({"sku": ["bolt", "nut"], "qty": [5, 2]}), tmp_path / "a.parquet")
    pa.csv.write_csv(pa.table({"sku": ["nut"], "qty": [9]}), tmp_path / "b.csv")
    (tmp_path / "c.jsonl").write_text('{"sku": "gear", "qty": 1}\n\n{"sku": "pin"}\n')
    for number, name in enumerate(("a.parquet", "b.csv", "c.jsonl"), 1):
        assert commands.rows("upsert", "stock", str(tmp_path / name)) == [{"snapshot": number}]
    for snapshot in (4, None):
        again = commands.rows("upsert", "stock", str(tmp_path / "b.csv"), "--token", "load:7")
        assert again == [{"snapshot": snapshot}]
    scan = commands.rows("scan", "stock", "--columns", "sku,qty", "--where", "qty > 1")
    assert sorted(map(str, scan)) == ["{'sku': 'bolt', 'qty': 5}", "{'sku': 'nut', 'qty': 9}"]
    assert commands.rows("get", "stock", "sku=pin") == [{"sku": "pin", "qty": None, "price": None}]
    missing = "keyfold: table stock has no row of the key sku=none\n"
    assert commands.outcome("get", "stock", "sku=none") == (1, "", missing)
    assert commands.outcome("get", "stock", "sku=none", "--json") == (1, "null\n", missing)
    commands.rows("delete", "stock", "--where", "sku IN ('pin', 'gear')")
    assert commands.text("scan", "stock", "--where", "sku = 'bolt'") == (
        "sku   qty  price\n----  ---  -----\nbolt    5   NULL\n"
    )
    assert commands.rows("compact", "stock")[0]["status"] == "committed"
    assert commands.rows("rescale", "stock", "--buckets", "2")[0]["buckets_after"] == 2
    assert commands.rows("tag", "stock", "monday") == [{"result": True}]
    assert len(commands.rows("scan", "stock", "--tag", "monday")) == 2
    assert commands.rows("count", "stock", "--tag", "monday") == [{"rows": 2}]
    assert commands.rows("count", "stock", "--where", "qty > 5") == [{"rows": 1}]
    expired = commands.rows("expire", "stock", "--retain-max", "1", "--retain-min", "1")
    assert expired == [{"deleted_snapshots_count": 6}]
    assert len(commands.rows("snapshots", "stock")) == 1
    assert commands.rows("health", "stock")[0]["runs"] == 1
    assert {row["level"] for row in commands.rows("files", "stock")} == {5}
    assert commands.rows("show", "stock", "tags")[0]["tag_name"] == "monday"
    assert commands.rows("orphans", "stock", "--dry-run")[0]["files"] == []
    shown = {row["name"]: row["value"] for row in commands.rows("describe", "stock")}
    assert (shown["qty"], shown["(primary key)"]) == ("BIGINT", "sku")
    assert commands.rows("delete-tag", "stock", "monday") == [{"result": True}]
    assert commands.rows("drop", "stock") == [{"table": "stock", "dropped": True}]


def test_what_commands_print_is_a_table_or_json(commands: Commands) -> None:
    commands.text("create", "t", "k INT, v STRING", "--key", "k")
    table = keyfold.connect(commands.warehouse).table("t")
    table.upsert([{"k": 1, "v": "one"}, {"k": 2, "v": None}])
    named = ("describe", "scan", "changes", "snapshots", "files", "health")
    every = [("ls",), ("ls", "default"), ("get", "t", "k=1"), ("show", "t", "schemas")]
    for words in (*every, *((name, "t") for name in named)):
        rows = commands.rows(*words)
        head, rule, *lines = commands.text(*words).splitlines()
        assert rows
        assert head.split() == list(rows[0]), words
        assert {*rule} == {"-", " "} or {*rule} == {"-"}, words
        assert len(lines) == len(rows), words


def test_commands_that_fail_say_why(commands: Commands, tmp_path: Path) -> None:
    assert commands.text("scan", "nothing").startswith("1 keyfold: table keyfold.default.nothing")
    commands.text("create", "t", "k INT", "--key", "k")
    for words, reason in (
        (("upsert", "t", "none.parquet"), "none.parquet can't be read: No such file"),
        (("upsert", "t", str(tmp_path)), "expected a name that ends in .csv, .json"),
        (("delete", "t", "--where", "k = 1", "--token", "7"), "expected NAME:VERSION, as orders:7"),
        (("get", "t", "k"), "expected NAME=VALUE"),
        (("get", "t", "k=x"), "key of table"),
        (("create", "u", "k"), "expected columns such as"),
        (("expire", "t", "--older-than", "soon"), "expected a time such as"),
        (("compact", "t", "--where", "k = 1"), "k"),
        (("delete-tag", "t", "none", "--no-if-exists"), "no tag 'none'"),
        (("scan", "t", "--where", "k ="), "expected a constant"),
        (("ls", "--set", "x"), "--set: expected NAME=VALUE"),
    ):
        found = commands.text(*words)
        assert found.startswith("1 keyfold:"), found
        assert reason in found


def test_every_procedure_is_a_command(commands: Commands) -> None:
    """With the arguments that it declares, and rows of the columns that it declares."""
    commands.text("create", "t", "k INT", "--key", "k")
    keyfold.connect(commands.warehouse).table("t").upsert([{"k": 1}])
    names = {name.replace("_", "-"): one for name, one in procedures().items()}
    assert names.keys() - COMMANDS.keys() == {"analyze"}
    for name, procedure in names.items():
        for given, _ in COMMANDS[name][1] if name in COMMANDS else ():
            plain = given[0].removeprefix("--").replace("-", "_")
            own = {"token"} if procedure.takes_token else set[str]()
            assert plain in {"table", *own, *(one.name for one in procedure.parameters)}
    for words in (("table-health", "t"), ("create-branch", "t", "b"), ("compact-manifest", "t")):
        found = commands.rows(*words)
        assert [list(row) for row in found] == [list(names[words[0]].result)] * len(found)
    back = ("rollback", "t", "--version", "1", "--token", "ops:1")
    assert [commands.rows(*back)[0]["current_snapshot_id"] for _ in range(2)] == [2, None]
    (found,) = commands.rows("compact-database", "--options", "num-levels=4")
    assert [*found] == [*names["compact-database"].result]


def test_files_of_a_newest_snapshot_that_is_lost_are_no_orphans(tmp_path: Path) -> None:
    table = made(tmp_path)
    wanted = filled(table, 3)
    folder = Path(table.location, "snapshot")
    newest = folder / f"snapshot-{(folder / 'LATEST').read_text()}"
    kept = newest.read_bytes()
    newest.unlink()
    old = (datetime.now(timezone.utc) - timedelta(days=9)).timestamp()
    for path in Path(table.location).rglob("*"):
        os.utime(path, (old, old))
    for dry_run in (True, False):
        with pytest.raises(CorruptDataError, match=f"restore {newest} from a backup"):
            table.remove_orphans(dry_run=dry_run)
    newest.write_bytes(kept)
    assert table.remove_orphans().num_rows == 0
    assert rows_of(table) == wanted
    newest.unlink()  # given up: the next write takes its number
    assert table.upsert([{"k": 1, "p": 1, "v": "x"}]) == int(newest.name[9:])
    assert table.remove_orphans().num_rows > 0
