"""All numba settings: the `kernel` decorator, where compiled code is kept, and the warm-up.

The cache directory is keyed by a digest of every source that holds kernels, the package, numba,
llvmlite and the processor. It is private to the user (`resources.private_folders`). One process at
a time fills it, with a few helpers. Code that can't be loaded is compiled again. A cache that
can't be written costs time, nothing else. Kernels release the GIL; no fastmath, no parallel.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding  # type: ignore[import-untyped]
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.compiler_lock import global_compiler_lock

from keyfold.kernels.sealed import SealedFiles
from keyfold.resources import private_folders

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type[tuple[Any, ...]])

CACHE_VARIABLE = "KEYFOLD_CACHE_DIR"
_SOURCES = ("kernels", "aggregates", "merge")
# Every kernel that names its signatures, and these: what `warm` compiles.
DECLARED: list[tuple[Any, tuple[str, ...]]] = []
_NAMES = dict(vars(numba.types))  # what a signature may name
_MOST_PROCESSES = 4  # each takes some 200 MB
LEAST_SHARE = 16  # signatures for which a process, a second of imports, pays
FILLER = "from keyfold.kernels import jit; jit.warm()"
HELPER = "import sys; from keyfold.kernels import jit; jit.compile_share(*map(int, sys.argv[1:]))"

# A thread that compiles or loads a kernel holds numba's lock. A process forked meanwhile has a copy
# of the lock, but not the thread that would release it.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)


def _package() -> Path:
    spec = find_spec("keyfold")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def source_digest(package: Path) -> str:
    """The hex digest of all that compiled code depends on: kernel sources, versions, processor."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for source in sorted((package / folder).rglob("*.py")):
            name = source.relative_to(package).as_posix()
            digest.update(f"{name}\0".encode() + source.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, sys.version, *_processor())
    digest.update(repr(versions).encode())
    return digest.hexdigest()[:24]


def _processor() -> tuple[str, str, str]:
    """The processor that numba compiles for: the one at hand, or the one that NUMBA_CPU_NAME and
    NUMBA_CPU_FEATURES name, whose code other processors of its kind load too.
    """
    binding, named, has = llvmlite.binding, numba.config.CPU_NAME, numba.config.CPU_FEATURES
    return (
        binding.get_process_triple(),
        binding.get_host_cpu_name() if named is None else named,
        binding.get_host_cpu_features().flatten() if has is None else has,
    )


def _roots() -> Iterator[Path]:
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        yield Path(named)
        return
    home = os.environ.get("XDG_CACHE_HOME") or (
        f"{os.environ['HOME']}/.cache" if "HOME" in os.environ else ""
    )
    if home:
        yield Path(home) / "keyfold"
    yield Path(tempfile.gettempdir()) / f"keyfold-{os.getuid()}"


def find_cache_directory(digest: str) -> tuple[Path | None, str]:
    """The first private writable folder for compiled code of `digest`, and why those before it are
    refused. The folder is None if all are refused.
    """
    refusals: list[str] = []
    for root in _roots():
        try:
            return private_folders.folder(root / f"kernels-{digest}"), "; ".join(refusals)
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            refusals.append(str(error))
    return None, "; ".join(refusals)


_PACKAGE = _package()
CACHE_DIRECTORY, CACHE_REFUSAL = find_cache_directory(source_digest(_PACKAGE))


@contextmanager
def locked(name: str, how: int) -> Iterator[None]:
    """Hold a lock file of the cache directory, which must exist. If the file can't be made nothing
    is locked, since no other file can be made then either.
    """
    assert CACHE_DIRECTORY is not None
    try:
        lock = (CACHE_DIRECTORY / name).open("a")
    except OSError:
        yield
        return
    with lock:
        fcntl.flock(lock, how)
        yield


class _WhereverInstalled(UserProvidedCacheLocator):  # type: ignore[misc]
    """The place of compiled code, wherever the package is: the directory's name has the digest of
    the sources, and a cluster unpacks the package somewhere else for each application.
    """

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        if not Path(py_file).is_relative_to(_PACKAGE):
            return None
        found = cls(py_func, py_file)  # a loop around a user's function has a file of no disk
        found.ensure_cache_path()
        return found

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return Path(py_file).parent.name

    def get_source_stamp(self) -> str:
        return ""


class _Placed(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_WhereverInstalled, UserProvidedCacheLocator)


class _GuardedCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function. It is locked in use, and wiped if it can't be loaded."""

    _impl_class = _Placed

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            with locked("files.lock", fcntl.LOCK_SH):
                return super().load_overload(sig, target_context)
        except Exception:  # a damaged index or code, or what numba makes of a foreign one
            self._wipe()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            with locked("files.lock", fcntl.LOCK_EX):
                super().save_overload(sig, data)
        except Exception:  # an unreadable index or a full disk: the code stays in memory
            self._wipe()

    def _wipe(self) -> None:
        try:
            with locked("files.lock", fcntl.LOCK_EX):
                for file in Path(self.cache_path).glob(f"{self._impl.filename_base}.*"):
                    file.unlink(missing_ok=True)
                _marker().unlink(missing_ok=True)
        except OSError:
            self.disable()


def _marker() -> Path:
    assert CACHE_DIRECTORY is not None
    return CACHE_DIRECTORY / "complete"


def dispatcher(function: Callable[..., Any], **options: bool) -> Any:
    """The compiled form of a function; it is kept on disk if the function has a source file."""
    compiled = numba.njit(nogil=True, **options)(function)
    if CACHE_DIRECTORY is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(CACHE_DIRECTORY)
        try:
            compiled._cache = _GuardedCache(function)
        except (RuntimeError, OSError):  # no source file behind the function: kept in memory
            pass
        finally:
            numba.config.CACHE_DIR = before
    return compiled


@overload
def kernel(declared: F, /) -> F: ...


@overload
def kernel(*declared: str) -> Callable[[F], F]: ...


def kernel(*declared: Any) -> Any:
    """Compile a function for the named signatures, at `warm()` or at its first call.

    A bare `@kernel` is compiled at a call, for the types of that call, and becomes a part of the
    kernels that call it. The plain Python function is `.py_func` of the result. A kernel allocates
    nothing, so references are not counted. numba would count one whenever a loop takes an array out
    of a tuple, which makes the loop up to ten times as slow.
    """
    if len(declared) == 1 and callable(declared[0]):
        return dispatcher(declared[0], _nrt=False, forceinline=True)

    def declare(function: F) -> F:
        compiled = dispatcher(function, _nrt=False)
        compiled._compile_for_args = partial(_load_declared, compiled, declared)
        DECLARED.append((compiled, declared))
        return cast("F", compiled)

    return declare


def _load_declared(compiled: Any, declared: tuple[str, ...], *_: Any) -> Any:
    """The first call of a kernel that is not warm gets what was declared, as `warm` kept it. numba
    asks the cache for the types of the call alone, under a key that no declared signature has, and
    would compile the kernel once more.
    """
    for signature in declared:
        compiled.compile(eval(signature, {}, _NAMES))
    vars(compiled).pop("_compile_for_args", None)  # other types than these are numba's own matter
    return compiled


def structure(*fields: str) -> Callable[[T], T]:
    """Let signatures name a NamedTuple whose fields have these types. A kernel then takes fewer
    arguments, as those that belong together are one.
    """

    def declare(named: T) -> T:
        kinds = [eval(field, {}, _NAMES) for field in fields]
        _NAMES[named.__name__] = numba.types.BaseTuple.from_types(kinds, named)
        return named

    return declare


def load_sources() -> None:
    """Import every module that may declare kernels. No import statement reaches all of them:
    engines and aggregates are found by name only.
    """
    for folder in _SOURCES:
        for source in sorted((_package() / folder).rglob("*.py")):
            parts = source.relative_to(_package()).with_suffix("").parts
            import_module(".".join(["keyfold", *parts]).removesuffix(".__init__"))


def warm() -> int:
    """Load or compile every declared signature; returns their number. One process compiles, with
    helpers if there are processors for them; others wait for it.
    """
    load_sources()
    if CACHE_DIRECTORY is None or _marker().exists():
        return _compile_declared()
    with locked("compile.lock", fcntl.LOCK_EX):
        if not _marker().exists():
            _compile_together()
        count = _compile_declared()
        with suppress(OSError):  # no room: the next process compiles what is missing
            _marker().touch()
    return count


def fill_cache() -> bool:
    """Let a child process compile what the cache lacks, because a compiler keeps some 200 MB of
    memory; whether the cache has everything now.
    """
    if CACHE_DIRECTORY is None:
        return False
    if not _marker().exists():
        _started(FILLER).wait()
    return _marker().exists()


def loading() -> Iterator[None]:
    """Load every declared signature, one at each step: milliseconds from the cache."""
    load_sources()
    yield
    for compiled, signatures in list(DECLARED):
        for signature in signatures:
            compiled.compile(eval(signature, {}, _NAMES))
            yield


def _started(program: str, *arguments: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _compile_together() -> None:
    """Fill the cache together with helpers. Each is a new process: a fork would take along the
    caller's threads and pipes. Signatures that a helper does not finish are left to the caller.
    """
    count = sum(len(signatures) for _, signatures in DECLARED)
    shares = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES, count // LEAST_SHARE)
    if shares < 2:
        return
    helpers = [_started(HELPER, share, shares) for share in range(1, shares)]
    try:
        _compile_declared(0, shares)
    finally:
        for helper in helpers:
            helper.wait()


def compile_share(share: int, shares: int) -> None:
    """Compile one of `shares` shares of the signatures into the cache: the work of a helper."""
    load_sources()
    _compile_declared(share, shares)


def _compile_declared(share: int = 0, shares: int = 1) -> int:
    """Compile a share of the signatures; returns the number of all. Modules are not divided, so
    that functions their kernels call in common are compiled once.
    """
    modules: dict[str, list[tuple[Any, str]]] = {}
    for compiled, signatures in DECLARED:
        pairs = modules.setdefault(compiled.py_func.__module__, [])
        pairs += [(compiled, signature) for signature in signatures]
    counts = [0] * shares
    for pairs in sorted(modules.values(), key=len, reverse=True):
        place = counts.index(min(counts))
        counts[place] += len(pairs)
        if place == share:
            for compiled, signature in pairs:
                compiled.compile(eval(signature, {}, _NAMES))
    return sum(counts)
