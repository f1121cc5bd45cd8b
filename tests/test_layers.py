"""Imports point one way and are at the top of their file; some libraries stay in one folder."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.statements import statements

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "keyfold"

# A room may import itself and every room in a later row; rooms of one row don't know each other.
ROWS = (
    ("__init__", "__main__"),
    ("testing", "setup"),  # what users start: nothing else imports it
    ("client",),
    ("questions", "tables"),
    ("procedures",),
    ("streams",),
    ("compact",),
    ("write",),
    ("changelog", "ids"),
    ("lookup",),
    ("read",),
    ("group_by",),
    ("user_functions", "lifetime"),
    ("storage", "merge", "predicates", "bridge", "dialects"),
    ("files", "aggregates"),
    ("kernels", "options", "stores"),
    ("wire", "resources"),
    ("types",),
    ("errors", "functions", "lazy"),
)
RANK = {layer: row for row, layers in enumerate(ROWS) for layer in layers}
# The same below keyfold.storage, where every folder and module has its row.
STORAGE = (
    ("branching",),
    ("catalogs", "commits", "maintenance"),
    ("history", "waiting_files"),
    ("table",),
    ("support",),
    ("schema",),
    ("rest", "jdbc", "hive"),
    ("metadata",),
)
STORAGE_RANK = {part: row for row, parts in enumerate(STORAGE) for part in parts}
DEFERRED = {
    "session.py",
    "running_jvm.py",
    "functions.py",
}  # name pyspark for the type checker only
FOREIGN = {
    "fastavro": {"storage"},
    "obstore": {"stores"},
    "requests": {"storage"},
    "numba": {"kernels", "user_functions"},  # users' functions are compiled too
    "llvmlite": {"kernels"},
}
NOWHERE = {"pandas", "polars", "pypaimon", "pyspark"}

SOURCES = sorted(PACKAGE.rglob("*.py"))


def layer(module: str) -> str:
    """The first name below keyfold: a folder or a module."""
    names = module.split(".")
    return names[1] if len(names) > 1 else "__init__"


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of the modules that a source imports; `from keyfold import x` is keyfold.x."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module in ("keyfold", "keyfold.storage"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def hidden(tree: ast.AST) -> Iterator[int]:
    """Lines of imports inside functions."""
    for function in statements(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in statements(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node.lineno


def test_imports_point_down() -> None:
    for source in SOURCES:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        here = source.relative_to(PACKAGE).parts[0].removesuffix(".py")
        found = list(imports(tree))
        ours = {layer(name) for name in found if name.split(".")[0] == "keyfold"} - {here}
        upward = {there for there in ours if RANK[there] <= RANK[here]}
        assert not upward, f"{source}: {here} stands below or beside {upward}"
        assert not list(hidden(tree)), f"{source}: an import inside a function"
        if source.name not in DEFERRED:
            tops = {name.split(".")[0] for name in found}
            assert not tops & NOWHERE, source
            assert all(here in FOREIGN.get(top, {here}) for top in tops), source
    assert len(SOURCES) > 200


def test_imports_point_down_inside_storage() -> None:
    for source in (PACKAGE / "storage").rglob("*.py"):
        here = source.relative_to(PACKAGE / "storage").parts[0].removesuffix(".py")
        names = [name.split(".") for name in imports(ast.parse(source.read_text(encoding="utf-8")))]
        theirs = {name[2] for name in names if name[:2] == ["keyfold", "storage"]} - {here}
        below = len(STORAGE) if here == "__init__" else STORAGE_RANK[here]
        upward = {there for there in theirs if STORAGE_RANK[there] <= below}
        assert not upward, f"{source}: {here} stands below or beside {upward}"


def test_every_room_has_its_row() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.name not in ("jars", "py.typed")}
    assert rooms - {"__pycache__"} == set(RANK)


LOADING = """
import sys
def loaded():
    print(*sorted({m.partition('.')[0] for m in sys.modules}))
import keyfold
loaded()
import keyfold.questions.executor
loaded()
import keyfold.__main__, keyfold.tables.commands
loaded()
"""


def test_what_is_loaded_is_what_is_used() -> None:
    """By the package itself, by workers, and by each command of the command line, which would begin
    half a second later with pandas.
    """
    shown = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=True
    ).stdout
    package, workers, commands = (set(line.split()) for line in shown.splitlines())
    assert not {"numba", "numpy", "pyarrow", "fastavro", "pyspark"} & package
    assert "numba" in workers
    assert not {"fastavro", "pandas", "pyspark", "grpc", "py4j", "requests"} & workers
    assert "fastavro" in commands
    assert "pandas" not in commands
