"""The kernel cache: where it lives, what it is keyed by, and that bad files never hurt."""

import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyfold.kernels import jit
from keyfold.kernels.sealed import DamagedError, SealedFiles
from tests import disks
from tests.kernels import fresh

Run = Callable[..., list[str]]
PACKAGE = Path(jit.__file__).resolve().parent.parent
PROGRAM = """
import numpy as np
from keyfold.kernels import jit
from keyfold.kernels.groups import by_key as groups
starts = np.empty(4, dtype=np.int64)
assert groups.mark_words(np.array([1, 1, 2], dtype=np.uint64), starts) == 2
hits = groups.mark_words.stats.cache_hits
print(sum(hits.values()), jit.CACHE_DIRECTORY)
"""


# It declares one kernel, which is compiled in a fraction of a second.
FEW = """
from keyfold.kernels import jit
from keyfold.kernels.groups import by_key as groups
jit.load_sources = lambda: None
jit.DECLARED[:] = [d for d in jit.DECLARED if d[0] is groups.mark_words]
"""


def environment(root: Path, **more: str) -> dict[str, str]:
    """That of a process whose cache is below `root`."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), jit.CACHE_VARIABLE: str(root), **more}


def run_whole(program: str, root: Path, **more: str) -> list[str]:
    """The words that a process prints which shares nothing with others."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment(root, **more),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """The words that a new process prints whose cache is below a folder."""
    with fresh.running() as started:
        yield lambda program, root, **more: started.run(program, environment(root, **more)).split()


def test_the_next_process_loads_what_one_compiled_and_wipes_what_is_broken(
    run: Run, tmp_path: Path
) -> None:
    hits, place = run(PROGRAM, tmp_path)
    assert hits == "0"
    assert stat.S_IMODE(Path(place).stat().st_mode) == 0o700
    for kind in ("nbc", "nbi"):
        (file,) = Path(place).rglob(f"*mark_words*.{kind}")
        file.write_bytes(file.read_bytes()[:40])
        assert run(PROGRAM, tmp_path) == ["0", place], "a truncated file is compiled again"
    assert run(PROGRAM, tmp_path) == ["1", place]


def test_the_same_package_elsewhere_loads_it_too(run: Run, tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "elsewhere" / "keyfold", symlinks=True)
    (copy / "kernels" / "groups" / "by_key.py").touch()
    hits, place = run(PROGRAM, tmp_path / "cache")
    assert hits == "0"
    assert run(PROGRAM, tmp_path / "cache", PYTHONPATH=str(copy.parent)) == ["1", place]


def test_two_versions_share_a_root(run: Run, tmp_path: Path) -> None:
    """Another numba, and another keyfold: each has its folder, and none wipes the other's."""
    copy = shutil.copytree(PACKAGE, tmp_path / "newer" / "keyfold", symlinks=True)
    edited = copy / "kernels" / "groups" / "by_key.py"
    edited.write_text(edited.read_text() + "\n# edited\n")
    root, newer = tmp_path / "cache", {"PYTHONPATH": str(copy.parent)}
    other_numba = "import numba\nnumba.__version__ = '0.1.2'\n" + PROGRAM
    firsts = [run(PROGRAM, root), run(PROGRAM, root, **newer), run(other_numba, root)]
    assert [hits for hits, _ in firsts] == ["0"] * 3
    assert len({place for _, place in firsts}) == 3
    again = [run(PROGRAM, root), run(PROGRAM, root, **newer), run(other_numba, root)]
    assert again == [["1", place] for _, place in firsts]


BASELINE = {"NUMBA_CPU_NAME": "generic"}
OF_ANOTHER = """
import llvmlite.binding
llvmlite.binding.get_host_cpu_name = lambda: "another"
"""
WIDE = """
import re
from llvmlite.binding import get_host_cpu_features
from keyfold.kernels.groups.by_key import mark_words
mark_words.compile("int64(uint64[::1], int64[::1])")
(code,) = mark_words.inspect_asm().values()
print(re.search("\\tv[a-z]", code) is not None, bool(get_host_cpu_features().get("avx")))
"""


def test_code_for_the_baseline_is_loaded_by_other_processors(tmp_path: Path) -> None:
    """An image is made on one machine and runs on others."""
    hits, place = run_whole(PROGRAM, tmp_path, **BASELINE)
    assert hits == "0"
    assert run_whole(OF_ANOTHER + PROGRAM, tmp_path, **BASELINE) == ["1", place]
    assert run_whole(PROGRAM, tmp_path)[1] != place
    of_this, has_avx = run_whole(WIDE, tmp_path / "of this one")
    assert of_this == has_avx
    assert run_whole(WIDE, tmp_path / "of all", **BASELINE) == ["False", has_avx]


def test_nowhere_to_write_still_runs(run: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    assert run(PROGRAM, blocked) == ["0", "None"]


def test_a_folder_that_others_may_swap_is_not_used(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert run(PROGRAM, root)[1].startswith(f"{root}/kernels-")
    root.chmod(0o777)
    assert run(PROGRAM, root) == ["0", "None"]


@disks.needs_mount
def test_a_disk_without_room_still_runs(run: Run, tmp_path: Path) -> None:
    """At each of its steps: folder, lock, index, code."""
    warm = PROGRAM + "jit.DECLARED.clear()\njit.load_sources = lambda: None\njit.warm()"
    for inodes in range(2, 9):
        with disks.small(tmp_path / "small", inodes=inodes) as root:
            root.chmod(0o700)
            hits, _ = run(warm, root)
            assert hits == "0"


def damage(file: Path, bits: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(3):
        content[bits.randrange(len(content))] ^= 1 << bits.randrange(8)
    file.write_bytes(content)


def test_files_with_wrong_bits_are_compiled_again(run: Run, tmp_path: Path, seed: int) -> None:
    """LLVM ends the process that loads machine code with a wrong bit."""
    _, place = run(PROGRAM, tmp_path)
    for kind in ("nbc", "nbi"):
        (file,) = Path(place).rglob(f"*mark_words*.{kind}")
        damage(file, random.Random(seed))
        assert run(PROGRAM, tmp_path) == ["0", place]
    assert run(PROGRAM, tmp_path) == ["1", place]


def test_any_wrong_bit_is_noticed(tmp_path: Path, seed: int) -> None:
    bits, content = random.Random(seed), b"machine code" * 20
    for _ in range(300):
        files = SealedFiles(str(tmp_path), "kernel", "stamp")
        files.save("signature", content)
        assert files.load("signature") == content
        damage(bits.choice([file for file in tmp_path.iterdir() if file.is_file()]), bits)
        with pytest.raises(DamagedError):
            files.load("signature")
        for file in tmp_path.iterdir():
            file.unlink()


def test_any_edited_source_is_another_cache(tmp_path: Path) -> None:
    copy = tmp_path / "keyfold"
    for folder in ("kernels", "aggregates", "merge"):
        shutil.copytree(PACKAGE / folder, copy / folder)
    before = jit.source_digest(copy)
    assert before == jit.source_digest(PACKAGE)
    helper = copy / "kernels" / "keys" / "order.py"
    helper.write_text(helper.read_text() + "\n# edited\n")
    assert jit.source_digest(copy) != before


def test_racing_processes_compile_once(tmp_path: Path) -> None:
    program = f"{FEW}jit.warm()\nprint(sum(groups.mark_words.stats.cache_misses.values()))"
    command = [sys.executable, "-c", program]
    racing = [
        subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    misses = [int(process.communicate()[0]) for process in racing]
    assert sorted(misses) == [0, 0, 1]


def test_helpers_fill_the_cache(run: Run, tmp_path: Path) -> None:
    few = (
        "from keyfold.kernels import jit\nfrom keyfold.kernels.groups import by_key\n"
        "from keyfold.kernels.folds import elements\njit.load_sources = lambda: None\n"
        "names = 'mark_words', 'hash_bytes'\n"
        "jit.DECLARED[:] = [d for d in jit.DECLARED if d[0].__name__ in names]\n"
    )
    helper = f"import sys\n{few}jit.compile_share(1, 2)"
    program = (
        f"{few}jit.LEAST_SHARE, jit.HELPER = 1, {helper!r}\n"
        "jit.os.sched_getaffinity = lambda process: {0, 1}\nassert jit.warm() == 2\n"
        "print(*(sum(d[0].stats.cache_hits.values()) for d in jit.DECLARED[:2]))"
    )
    assert sorted(run(program, tmp_path)) == ["0", "1"]


def test_who_lets_the_cache_be_filled_compiles_nothing(run: Run, tmp_path: Path) -> None:
    program = (
        f"{FEW}jit.FILLER = {FEW + 'jit.warm()'!r}\nassert jit.fill_cache()\n"
        "assert not groups.mark_words.overloads\nfor _ in jit.loading(): pass\n"
        "print(*(sum(found.values()) for found in groups.mark_words.stats[-2:]))"
    )
    assert run(program, tmp_path) == ["1", "0"]


def test_a_call_finds_what_was_warmed_up(run: Run, tmp_path: Path) -> None:
    """Programs without a fork server load kernels as they call them."""
    assert run(f"{FEW}print(jit.warm())", tmp_path) == ["1"]
    hits, _ = run(PROGRAM, tmp_path)
    assert hits == "1"


def test_kernels_use_no_fast_math_and_no_threads_of_their_own() -> None:
    for compiled, signatures in jit.DECLARED:
        assert signatures
        assert compiled.targetoptions.get("nogil") is True
        assert not compiled.targetoptions.get("fastmath")
        assert not compiled.targetoptions.get("parallel")


def test_a_bare_kernel_compiles_for_what_it_is_called_with() -> None:
    @jit.kernel
    def twice(number: int) -> int:
        return number + number

    assert twice(4) == 8
    assert twice not in [compiled for compiled, _ in jit.DECLARED]


def test_warming_up_twice_compiles_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    count = jit.warm()
    assert count == sum(len(signatures) for _, signatures in jit.DECLARED)
    before = [len(compiled.overloads) for compiled, _ in jit.DECLARED]
    jit.warm()
    assert [len(compiled.overloads) for compiled, _ in jit.DECLARED] == before
