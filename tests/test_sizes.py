"""Files and functions stay small: one concept a file, one thought a function."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(
    path for top in ("python", "tests", "integration", "jvm") for path in (ROOT / top).rglob("*.py")
)
SHIM = sorted((ROOT / "jvm").rglob("*.scala"))
FILE_LINES = 400
FUNCTION_LINES = 60
KERNEL_PARAMETERS, KERNEL_LINES = 8, 30
# Products whose steps were kernels of their own took a sixth longer; merges go from both ends at
# once, with all places in registers.
LONG_KERNELS = {"multiply_decimals", "merge_words", "merge_packed"}


@pytest.mark.parametrize("source", [*SOURCES, *SHIM], ids=lambda p: str(p.relative_to(ROOT)))
def test_file_is_short(source: Path) -> None:
    assert len(source.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_are_short(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    lengths = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions}
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether the function is compiled: `@kernel` or `@kernel(signatures)`."""
    return any("kernel" in ast.unparse(decorator) for decorator in function.decorator_list)


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_kernels_are_short(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    kernels = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and is_kernel(n)]
    for found in kernels:
        lines = (found.end_lineno or found.lineno) - found.lineno + 1
        assert len(found.args.args) <= KERNEL_PARAMETERS, found.name
        assert lines <= KERNEL_LINES or found.name in LONG_KERNELS, found.name
