"""Finds the store that a location names; a store that does not answer is not waited for."""

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from keyfold.errors import EnvironmentMismatchError, NotSupportedError, TableError
from keyfold.stores import hadoop, settings
from keyfold.stores.files import Files
from keyfold.stores.hadoop import HadoopFiles
from keyfold.stores.local import LocalFiles, local_path
from keyfold.stores.objects import ObjectFiles
from keyfold.stores.store_kinds import KINDS

# Stores that are asked before they are used, as their clients look long for a login or a library,
# each with advice if it does not answer.
_ASKED_FIRST = {scheme: kind.advice for scheme, kind in KINDS.items() if kind.is_slow_to_fail} | {
    settings.HADOOP: hadoop.ADVICE
}
Made = TypeVar("Made")
ANSWER_SECONDS = 20.0  # Google's client tries for minutes


def open_files(location: str, options: Mapping[str, str]) -> tuple[Files, str]:
    """The store of a warehouse or table, by a catalog's options, and its full path there. Raises
    TableError if a file is in the place of its folder.
    """
    local = local_path(location)
    if local is not None:
        path = Path(local).expanduser().absolute()
        _check_folder(path)
        return LocalFiles(), str(path)
    root = location.rstrip("/")
    given = settings.store_options(location, options)
    scheme = urlsplit(root).scheme
    if scheme in (*KINDS, settings.HADOOP):
        if scheme in _ASKED_FIRST:
            _reach(root, frozenset(given.items()))
        return store_of(root, given), root
    raise NotSupportedError(
        f"{root}: stores of {scheme}:// are not supported; expected a local or mounted folder, "
        f"{', '.join(f'{name}://' for name in (*KINDS, settings.HADOOP))}"
    )


def store_of(location: str, options: Mapping[str, str]) -> Files:
    """The store of a table at a full path or URI, with the `store` of its layout."""
    if location.startswith("/") or "://" not in location:
        return LocalFiles(location)
    place = urlsplit(location)
    return _store(f"{place.scheme}://{place.netloc}", frozenset(options.items()))


# Each table may have a login of its own. Renewed ones leave clients behind that nobody asks for
# again, of a tenth of a megabyte each.
@lru_cache(maxsize=256)
def _store(root: str, options: frozenset[tuple[str, str]]) -> Files:
    kind = HadoopFiles if root.startswith(f"{settings.HADOOP}:") else ObjectFiles
    return kind(root, dict(options))


def _check_folder(path: Path) -> None:
    there = next(each for each in (path, *path.parents) if each.exists())
    if not there.is_dir():
        raise TableError(
            f"{path} can't be a folder of tables: {there} is a file; name another folder (the "
            "catalog's setting warehouse, or the path of the table)"
        )


@lru_cache(maxsize=256)
def _reach(root: str, options: frozenset[tuple[str, str]]) -> None:
    """Raises EnvironmentMismatchError if the store has never answered and does not answer now,
    TableError if it has no such bucket.
    """
    try:
        answered(lambda: store_of(root, dict(options)).reach(root), ANSWER_SECONDS)
    except TableError:
        raise
    except Exception as error:  # each client has errors of its own
        first = f"{error}".partition("\n")[0]  # the rest lists the places searched for a library
        advice = _ASKED_FIRST[urlsplit(root).scheme]
        raise EnvironmentMismatchError(
            f"{root} can't be reached ({type(error).__name__}: {first.removesuffix(advice)}): "
            f"{advice}"
        ) from error


def answered(ask: Callable[[], Made], seconds: float) -> Made:
    """Call `ask`: its result, or its error. Raises TimeoutError if it takes too long."""
    made: list[Made] = []
    failures: list[Exception] = []

    def asking() -> None:
        try:
            made.append(ask())
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=asking, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not made:
        raise TimeoutError(f"no answer in {seconds:.0f} s")
    return made[0]
