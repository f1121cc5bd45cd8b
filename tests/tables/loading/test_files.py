"""Files that the command line loads: their values, and what it says of those that are wrong."""

import io
import os
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import Table
from keyfold.__main__ import main
from keyfold.tables.loading import delimited, json_lines

COLUMNS = {"k": "INT", "n": "BIGINT", "e": "DECIMAL(20,2)", "s": "STRING", "need": "INT NOT NULL"}
Load = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = keyfold.connect(tmp_path / "warehouse", threads=1)
    columns = {**COLUMNS, "need": "INT"}
    return catalog.create_table("t", columns, ["k"], options={"bucket": 1, "write-only": True})


@pytest.fixture
def load(table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Load:
    """Upserts a file; gives the message, which has one line, or nothing."""

    def loaded(name: str, content: bytes | str, *more: str, command: str = "upsert") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        warehouse = str(tmp_path / "warehouse")
        before = table.snapshot
        code = main([command, "t", str(path), *more, "--warehouse", warehouse])
        error = capsys.readouterr().err
        assert (code == 0) == (error == "")
        assert code == 0 or table.snapshot == before
        assert error.count("\n") == (code != 0)
        return error.removeprefix(f"keyfold: {tmp_path}/")

    return loaded


def rows(table: Table, *names: str) -> dict[int, Any]:
    found = table.scan().to_pylist()
    return {row["k"]: tuple(row[name] for name in names) for row in found}


def test_csv_has_the_types_of_the_table(table: Table, load: Load) -> None:
    text = "k,e,n,s\n1,12345678901234567.89,9007199254740993,007\n2,0.29,,true\n3,,1,2026-01-01\n"
    assert load("a.csv", text) == ""
    assert rows(table, "e", "n", "s") == {
        1: (Decimal("12345678901234567.89"), 9007199254740993, "007"),
        2: (Decimal("0.29"), None, "true"),
        3: (None, 1, "2026-01-01"),
    }


def test_what_csv_has_as_null(table: Table, load: Load) -> None:
    """Nothing between commas, or what --null says; quotes make a text of it."""
    assert load("a.csv", 'k,n,s\r\n1,,""\r\n2,5,\r\n') == ""
    assert rows(table, "n", "s") == {1: (None, ""), 2: (5, None)}
    assert load("a.csv", 'k,n,s\n1,NA,"NA"\n2,5,\n', "--null", "NA") == ""
    assert rows(table, "n", "s") == {1: (None, "NA"), 2: (5, "")}
    assert "line 2: column n: '' is not a value" in load("a.csv", "k,n\n1,\n", "--null", "NA")


def test_csv_as_programs_write_it(table: Table, load: Load) -> None:
    """With a mark of UTF-8, names in other letter case, quotes, blank lines, no end of line."""
    text = '\ufeff"K", S\n1,"a ""b"", c\nd"\n\n2,é'
    assert load("a.csv", text) == ""
    assert rows(table, "s") == {1: ('a "b", c\nd',), 2: ("é",)}
    for last, value in (('""', ""), ('""""', '"'), ('"x\n"', "x\n"), ('5" "', '5" "'), ("x", "x")):
        assert load("a.csv", f"k,s\n1,{last}") == ""
        assert rows(table, "s")[1] == (value,)
    assert load("a.csv", "k,s\n") == ""
    assert load("a.csv", "\ufeffk,s") == ""


def test_types_that_the_user_names(table: Table, load: Load) -> None:
    """Texts become values of those types, which are stored as an INSERT stores them."""
    assert "'1.005' is not a value of type DECIMAL(20,2)" in load("a.csv", "k,e\n1,1.005\n")
    assert load("a.csv", "k,e\n1,1.015\n", "--types", "E DOUBLE") == ""
    assert load("a.jsonl", '{"k": 2, "n": "1.0"}\n', "--types", "n DECIMAL(9,1)") == ""
    assert rows(table, "e", "n") == {1: (Decimal("1.02"), None), 2: (None, 1)}
    for types, words in (("x INT", "no column 'x'"), ("k", "'k'"), ("k FOO", "FOO")):
        assert words in load("a.csv", "k\n1\n", "--types", types)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "expected a first line with the names of columns, found none"),
        ("a.csv", "k,x\n1,2\n", "a.csv, line 1: table keyfold.default.t has no column 'x'"),
        ("a.csv", "k,K\n1,2\n", "a.csv, line 1: column k comes twice"),
        ("a.csv", b"k,\xff\n1,2\n", "a.csv, line 1: expected UTF-8"),
        ("a.csv", "k,n\n1,2\n2\n", "a.csv, line 3: expected 2 fields (k, n), found 1: '2'"),
        ("a.csv", "k,n\n1,2,3\n", "a.csv, line 2: expected 2 fields (k, n), found 3: '1,2,3'"),
        ("a.csv", 's,k,n\n"\n\n",7,1\n\n,8,1.0\n', "line 6: column n: '1.0' is not a value"),
        ("a.csv", "s,k,n\n,8,1.0\n", "without a point (key k = 8)"),
        ("a.csv", "k,n\n1,x\n", "a.csv, line 2: column n: 'x' is not a value of"),
        ("a.csv", b"k,s\n1,a\n2,\xe9\n", "line 3: column s: b'\\xe9' is not UTF-8"),
        ("a.csv", 'k,s\n1,a\n2,"b\n3,c\n', "the last quote is not closed: '1,a\\n2,\"b\\n3,c\\n'"),
        ("a.csv", 'k,s\n1,a\n2,"b""', "the last quote is not closed"),
        ("a.csv", 'k,s\n1,5" pipe\n2,"', "the last quote is not closed"),
        ("a.jsonl", '{"k": 1}\n{"k": 2', "line 2: expected an object of JSON on each line, or"),
        ("a.jsonl", "[1, 2]\n", "line 1: expected an object of JSON on each line"),
        ("a.jsonl", '{"k": 1}\n7\n', "line 2: expected an object of JSON on each line"),
        ("a.jsonl", '{"k": 1, "x": 1}', "line 1: table keyfold.default.t has no column 'x'"),
        ("a.jsonl", '{"k": 1, "K": 1}', "line 1: column k comes twice"),
        ("a.jsonl", '{"k": 1, "k": 1}', "the name 'k' comes twice"),
        ("a.jsonl", '\n{"k": 1, "n": 1.5}', "line 2: column n: 1.5 is not a value of type BIGINT"),
        ("a.jsonl", '{"k": 1, "e": 1.005}', "(key k = 1)"),
        ("a.jsonl", b'{"k": 1}\n{"s": "\xe9"}', "line 2: expected UTF-8"),
        ("a.jsonl", '{"k": ' + "1" * 5000 + "}", "Exceeds the limit (4300 digits)"),
        ("a.json", '[{"k": 1},\n{"k": 1, "n": "x"}]', "line 2: column n: 'x' is not a value"),
        ("a.json", '[{"k": 1},\n{"k": ]', "line 2: expected an object"),
        ("a.json", '[{"k": 1}', "line 1: expected an object"),
        ("a.json", '[{"k": 1}]\n\n[]', "line 3: expected an object"),
        ("a.json", b'[{"k": 1}\n,{"s": "\xe9"}]', "expected UTF-8"),
        ("a.parquet", "PAR1", "expected a file of format parquet"),
        ("a.arrow", "nothing", "expected a file of format arrow"),
        ("a.arrow", "ARROW1", "expected a file of format arrow"),
        ("a.txt", "k\n1\n", "expected a name that ends in .csv, .json, .jsonl"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(load: Load, name: str, content: bytes | str, words: str) -> None:
    found = load(name, content)
    assert found.startswith(name)
    assert words in found


def test_null_where_none_may_be(table: Table, load: Load) -> None:
    assert "line 3: column k: it is NOT NULL, and the field is empty" in load(
        "a.csv", "s,k\na,1\nb,\n"
    )
    assert "line 1: column k: it is NOT NULL, found null" in load("a.jsonl", '{"k": null}')


def test_options_of_other_formats(load: Load) -> None:
    assert "--null is for csv" in load("a.jsonl", "", "--null", "NA")
    assert "--types is for csv and json" in load("a.parquet", "", "--types", "k INT")


def test_json_in_lines_and_in_an_array(table: Table, load: Load) -> None:
    assert load("a.jsonl", '\ufeff{"k": 1, "e": 0.29}\n\n{"k": 2, "e": "1.5", "s": "x"}\n') == ""
    assert load("a.json", ' \n[{"k": 3,\n"n": 1.0}\n,\n {"k": 4, "n": "5"}]\n ') == ""
    assert load("b.json", '{"k": 5}\n{"k": 6}') == ""
    assert load("c.json", "[]") == ""
    assert load("d.json", "") == ""
    none = (None, None, None)
    assert rows(table, "e", "n", "s") == {
        1: (Decimal("0.29"), None, None),
        2: (Decimal("1.5"), None, "x"),
        3: (None, 1, None),
        4: (None, 5, None),
        5: none,
        6: none,
    }


def test_blocks(table: Table, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are larger than what is read at once."""
    monkeypatch.setattr(delimited, "_BLOCK", 200)
    monkeypatch.setattr(json_lines, "_BLOCK", 7)
    lines = [f'{k},"é{k}\n"\n' for k in range(100)]
    assert load("a.csv", "k,s\n" + "".join(lines)) == ""
    assert rows(table, "s") == {k: (f"é{k}\n",) for k in range(100)}
    assert load("a.csv", "k,s\n" + "".join(lines) + "x,\n").startswith("a.csv, line 202: column k")
    assert "a row has more than 200 bytes" in load("a.csv", "k,s\n1," + "x" * 2000 + "\n")
    objects = [f'{{"k": {k}, "s": "é,{k}]"}}' for k in range(100)]
    for name, content in (
        ("a.jsonl", "\n".join(objects)),
        ("a.json", f"[{', '.join(objects)}]"),
        ("b.json", "[\n" + ",\n".join(objects) + "\n]"),
    ):
        table.truncate()
        assert load(name, content) == ""
        assert rows(table, "s") == {k: (f"é,{k}]",) for k in range(100)}
    monkeypatch.setattr(json_lines, "_LONGEST", 30)
    assert "line 1: it has more than 30 bytes" in load("a.jsonl", " " * 100)
    assert "line 1: expected an object" in load("a.json", '[{"s": "' + "x" * 100)


def test_keys_to_delete(table: Table, load: Load) -> None:
    table.upsert([{"k": k} for k in range(4)])
    assert load("a.csv", "k\n1\n2\n", command="delete") == ""
    assert sorted(rows(table)) == [0, 3]
    assert "line 3: column k: 'x'" in load("a.csv", "k\n1\nx\n", command="delete")


def test_parquet_and_arrow(table: Table, load: Load, tmp_path: Path) -> None:
    data = pa.table({"k": [1, 2], "s": ["a", "b"]})
    pq.write_table(data, tmp_path / "a.parquet")
    assert load("a.parquet", (tmp_path / "a.parquet").read_bytes()) == ""
    for make, name in ((pa.ipc.new_file, "a.arrow"), (pa.ipc.new_stream, "b.arrow")):
        table.truncate()
        sink = pa.BufferOutputStream()
        with make(sink, data.schema) as writer:
            writer.write_table(data)
        assert load(name, sink.getvalue().to_pybytes()) == ""
        assert rows(table, "s") == {1: ("a",), 2: ("b",)}


@pytest.mark.parametrize("way", ["-", "/dev/stdin", "fifo"])
def test_standard_input(
    table: Table,
    tmp_path: Path,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(content: bytes, form: str) -> tuple[int, str]:
        path, name = tmp_path / "fifo", way
        if way == "-":
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            name = way
        else:  # a pipe either way
            path.unlink(missing_ok=True)
            os.mkfifo(path)
            name = str(path)
            threading.Thread(target=write, args=(path, content), daemon=True).start()
        words = ["upsert", "t", name, "--format", form, "--warehouse", str(tmp_path / "warehouse")]
        return main(words), capsys.readouterr().err

    assert run(b"k,s\n1,a\n", "csv") == (0, "")
    assert run(b'{"k": 2, "s": "b"}\n', "json") == (0, "")
    assert rows(table, "s") == {1: ("a",), 2: ("b",)}
    code, error = run(b'k,s\n1,"a\nb"\nx,c\n', "csv")
    shown = "standard input" if way == "-" else str(tmp_path / "fifo")
    assert (code, error.partition(": column")[0]) == (1, f"keyfold: {shown}, row 2")
    code, error = run(b"k,s\n1\n", "csv")
    assert error == f"keyfold: {shown}: expected 2 fields (k, s), found 1: '1'\n"
    if way == "-":
        code, error = run(b"", "parquet")
        assert "can't come by a pipe" in error


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def test_standard_input_has_no_name(table: Table, tmp_path: Path, capsys: Any) -> None:
    assert main(["upsert", "t", "-", "--warehouse", str(tmp_path / "warehouse")]) == 1
    assert "standard input: expected a name that ends in .csv" in capsys.readouterr().err


def test_rows_of_different_columns(load: Load, tmp_path: Path) -> None:
    """A line of JSON that does not name a column leaves it as it is where columns fold."""
    catalog = keyfold.connect(tmp_path / "warehouse", threads=1)
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "last_value"}
    catalog.drop_table("t")
    made = catalog.create_table("t", COLUMNS | {"need": "INT"}, ["k"], options=options)
    assert load("a.jsonl", '{"k": 1, "n": 1}\n{"k": 2, "n": 2}\n') == ""
    assert load("a.jsonl", '{"k": 1, "s": "x"}\n{"k": 2, "n": 3}\n') == ""
    assert rows(made, "n") == {1: (1,), 2: (3,)}
