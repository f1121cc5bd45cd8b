"""Whatever the arguments of a command are, it ends with one line about what is wrong, or well."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import keyfold
from keyfold.__main__ import main
from keyfold.tables.arguments import COMMANDS

EXAMPLES = int(os.environ.get("KEYFOLD_COMMAND_LINES", "100"))
HUGE = "1" + "0" * 40
NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "7",
    "9999999999",
    str(2**63),
    HUGE,
    "-" + HUGE,
    "1.5",
    "x",
    "",
    "1e3",
]
TABLES = ["t", "default.t", "`t`", "none", "none.t", "a.b.c", "", ".", "t$branch_x", "t$snapshots"]
TABLES += [
    "{here}/warehouse/default.db/t",
    "{here}/nowhere/t",
    "/",
    "a b",
    "a/b",
    "\0",
    "..",
    "é",
    "u",
]
FILES = [
    "rows.csv",
    "rows.jsonl",
    "rows.json",
    "rows.parquet",
    "rows.arrow",
    "latin.csv",
    "latin.jsonl",
]
FILES += ["none.csv", "folder", "folder.csv", "unreadable.csv", "bytes.parquet", "bytes.arrow"]
FILES += [
    "bytes.csv",
    "bytes.json",
    "empty.csv",
    "empty.json",
    "empty.parquet",
    "rows.txt",
    "",
    "-",
]
FILES += ["nul\0.csv", "x" * 5000 + ".csv", "wide.csv", "/dev/null", "rows.csv/", "keys.csv"]
TEXTS = [
    "k",
    "v",
    "x",
    "k,v",
    "K",
    "",
    ",",
    "k,k",
    "k=1",
    "k=x",
    "=1",
    "k=",
    "k = 1",
    "k = 'x'",
    "v > 1",
]
TEXTS += [
    "k = " + HUGE,
    "k IN (1, 2)",
    "k IN (",
    "x = 1",
    "v LIKE 'a%'",
    "k LIKE 'a'",
    "NOT",
    "(" * 400,
]
TEXTS += [
    "p = 1",
    "p=1",
    "p=1;p=2",
    "k INT",
    "k INT, v STRING",
    "k FOO",
    "k DECIMAL(99,1)",
    "k INT,",
]
TEXTS += [
    "TRUE",
    "d > DATE '2026-02-30'",
    "k = NULL",
    "v = X'0a'",
    "\0",
    "\ud800",
    "é",
    "a/b",
    "../x",
]
TEXTS += [
    "2026-01-01",
    "2026-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01",
    "soon",
]
TEXTS += [
    "one",
    "merge-engine=x",
    "bucket=0",
    "bucket=" + HUGE,
    "bucket=2",
    "foo=1",
    "s3.endpoint=x",
]
TEXTS += [
    "threads=1",
    "threads=x",
    "memory=1",
    "modules=x",
    "options",
    "snapshots",
    "binlog",
    "rows",
]
WORDS = st.sampled_from(NUMBERS + TABLES + FILES + TEXTS) | st.text(max_size=5)
OPTIONS = sorted(
    {name for _, more in COMMANDS.values() for names, _ in more for name in names if name[0] == "-"}
    | {"--json", "--set", "--warehouse", "--catalog", "--nothing", "-h", "--version"}
)
CHANGING = {"drop", "create"}  # on tables of their own, so that the others have one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and files of all sorts."""
    here = tmp_path_factory.mktemp("lines")
    for name, content in {
        "rows.csv": b"k,v,p\n1,a,1\n2,b,1\n",
        "keys.csv": b"p,k\n1,1\n",
        "rows.jsonl": b'{"k": 1, "v": "a", "p": 1}\n',
        "rows.json": b'[{"k": 1, "v": "a", "p": 1}]',
        "latin.csv": "k,v,p\n1,é,1\n".encode("latin-1"),
        "latin.jsonl": '{"k": 1, "v": "é"}'.encode("latin-1"),
        "rows.txt": b"k\n1\n",
        "wide.csv": b"k" + b",x" * 2000 + b"\n",
        "unreadable.csv": b"k,v\n",
        **{f"bytes.{end}": bytes(range(256)) * 9 for end in ("csv", "json", "parquet", "arrow")},
        **{f"empty.{end}": b"" for end in ("csv", "json", "parquet")},
    }.items():
        (here / name).write_bytes(content)
    (here / "unreadable.csv").chmod(0)
    for name in ("folder", "folder.csv"):
        (here / name).mkdir()
    rows = pa.table({"k": [1, 2], "v": ["a", "b"], "p": [1, 1]})
    pq.write_table(rows, here / "rows.parquet")
    with pa.ipc.new_file(here / "rows.arrow", rows.schema) as writer:
        writer.write_table(rows)
    made_in(here)
    return here


def made_in(here: Path) -> None:
    catalog = keyfold.connect(here / "warehouse", threads=1)
    columns = {"k": "INT", "v": "STRING", "p": "INT", "d": "DATE"}
    options = {"bucket": "1"}
    table = catalog.create_table("t", columns, ["p", "k"], ["p"], options, if_not_exists=True)
    table.upsert([{"k": k, "v": "a", "p": 1} for k in range(3)])


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command with as many arguments as it takes, more or less; many name the table first."""
    name = draw(st.sampled_from([*COMMANDS, "jar-path", "nothing"]))
    words = draw(st.lists(WORDS, max_size=3))
    if name in COMMANDS and draw(st.booleans()):
        words = [*words[:1], *words]
        if "table" in {names[0] for names, _ in COMMANDS[name][1]}:
            words = ["t", *words[1:]]
    if name in CHANGING:
        words = ["u" if word == "t" else word for word in words]
    known = [names[0] for names, _ in COMMANDS.get(name, ("", ()))[1] if names[0][0] == "-"]
    for _ in range(draw(st.integers(0, 2))):
        option = draw(st.sampled_from(known or OPTIONS) | st.sampled_from(OPTIONS))
        if option not in ("-h", "--version", "--warehouse") or draw(st.integers(0, 9)) == 0:
            words += [option, *draw(st.lists(WORDS, max_size=1))]
    return [name, *words]


@settings(max_examples=EXAMPLES)
@given(words=lines())
@example(words=["scan", "t", "--limit", HUGE])
@example(words=["tag", "t", "a/../b"])
@example(words=["create", "a b/c", "k INT", "--key", "k"])
def test_a_command_says_what_is_wrong(folder: Path, words: list[str]) -> None:
    words = [word.replace("{here}", str(folder)) for word in words]
    before = Path.cwd()
    out, error = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(error))
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(b"k,v,p\n1,a,1\n"))
        )
        try:
            code = main([*words, "--warehouse", str(folder / "warehouse")])
        except SystemExit as ended:  # of argparse
            code = int(ended.code or 0)
    assert Path.cwd() == before
    told = error.getvalue()
    assert "Traceback" not in told
    if code:
        lines_told = told.splitlines()
        assert re.match(r"keyfold( [a-z-]+)?: .", told), (words, told)
        assert len(lines_told) == 1, (words, told)
        assert not re.search(r"\b(Errno|NoneType|KeyError|object has no|pyarrow\.lib)\b", told), (
            told
        )
    made_in(folder)
