"""Files and functions stay small: one concept a file, one thought a function."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.statements import statements

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(
    path for top in ("python", "tests", "integration", "jvm") for path in (ROOT / top).rglob("*.py")
)
SCALA = sorted((ROOT / "jvm").rglob("*.scala"))
FILE_LINES = 400
FOLDER_FILES = 21  # an aggregate is a file of one folder, where it is found
FUNCTION_LINES = 60
KERNEL_PARAMETERS, KERNEL_LINES = 8, 30
# The shim, which connects Spark with Python, and all Scala: what needs neither types nor plans of
# Spark is Python's.
SHIM_LINES, SCALA_LINES = 5_420, 11_499
# Products whose steps were kernels of their own took a sixth longer; merges go from both ends at
# once, with all places in registers.
LONG_KERNELS = {"multiply_decimals", "merge_words", "merge_packed"}
MADE = {"functions.scala"}  # of the declarations of aggregates, by a program
CLIENT_LINES = 760  # of Scala that programs call and nothing else uses, which counts by itself


def functions() -> Iterator[tuple[str, ast.FunctionDef, int]]:
    """Every function of Python: where it is, and its lines."""
    for source in SOURCES:
        for node in statements(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                place = f"{source.relative_to(ROOT)}: {node.name}"
                yield place, node, (node.end_lineno or node.lineno) - node.lineno + 1


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether the function is compiled: `@kernel` or `@kernel(signatures)`."""
    called = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
    return any(isinstance(one, ast.Name) and one.id == "kernel" for one in called)


def test_files_are_short() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in [*SOURCES, *SCALA]}
    lines = {str(path.relative_to(ROOT)): len(text.splitlines()) for path, text in texts.items()}
    assert len(lines) > 500
    assert {path: count for path, count in lines.items() if count > FILE_LINES} == {}
    # A file that wants banners between its parts is two files, or its names don't say enough.
    banners = {str(path.relative_to(ROOT)) for path in texts if "\n# ---" in texts[path]}
    assert banners == set()


def test_shim_is_small() -> None:
    by_hand = [path for path in SCALA if path.name not in MADE]
    assert len(by_hand) == len(SCALA) - len(MADE)
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in by_hand}
    shim = {path: count for path, count in lines.items() if "shim" in path.relative_to(ROOT).parts}
    assert 50 < len(shim) < len(lines)
    assert sum(shim.values()) <= SHIM_LINES
    client = [n for path, n in lines.items() if "client" in path.relative_to(ROOT).parts]
    assert 0 < sum(client) <= CLIENT_LINES
    assert sum(lines.values()) - sum(client) <= SCALA_LINES


def test_folders_hold_few_files() -> None:
    package = [path for path in SOURCES if path.is_relative_to(ROOT / "python")]
    folders = Counter(path.parent for path in [*package, *SCALA])
    assert len(folders) > 50
    assert {str(path): count for path, count in folders.items() if count > FOLDER_FILES} == {}


def test_functions_and_kernels_are_short() -> None:
    found = list(functions())
    kernels = [(place, f, lines) for place, f, lines in found if is_kernel(f)]
    assert len(kernels) > 50
    assert {place: lines for place, _, lines in found if lines > FUNCTION_LINES} == {}
    wide = {place: len(f.args.args) for place, f, _ in kernels}
    assert {place: count for place, count in wide.items() if count > KERNEL_PARAMETERS} == {}
    long = {place: lines for place, f, lines in kernels if f.name not in LONG_KERNELS}
    assert {place: lines for place, lines in long.items() if lines > KERNEL_LINES} == {}
