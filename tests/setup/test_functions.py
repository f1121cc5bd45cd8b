"""`keyfold.functions` outside a session: its signatures, and what its import loads."""

import inspect
import subprocess
import sys

import keyfold
from keyfold import functions


def test_options_are_keyword_arguments() -> None:
    found = inspect.signature(functions.listagg)
    assert str(found) == (
        "(column: 'Column | str', *, delimiter: 'str | None' = None, "
        "distinct: 'bool | None' = None, skip_blank: 'bool | None' = None) -> 'Column'"
    )
    assert inspect.signature(functions.nested_update).parameters["count_limit"].annotation == (
        "int | None"
    )
    assert "The text between two joined texts." in str(inspect.getdoc(functions.listagg))
    assert keyfold.functions is functions


def test_neither_spark_nor_numba_is_loaded() -> None:
    program = (
        "import sys; from keyfold.functions import listagg; "
        "print({'numba', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
