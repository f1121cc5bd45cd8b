"""What every test session shares: hypothesis profiles, the one seed of all that tests draw, where
they keep their files, and the seconds of each test file.
"""

import atexit
import gc
import os
import random
import tempfile
from collections import Counter
from collections.abc import Generator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# As all processes of keyfold have it: the other allocators of Arrow reserve memory by the gigabyte.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci", max_examples=50, deadline=None, print_blob=True, suppress_health_check=SLOW
)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

FIXED = 6  # the same tests draw the same: who looks for more sets KEYFOLD_TEST_SEED
SEED = pytest.StashKey[int]()
SECONDS = pytest.StashKey[dict[str, float]]()
KEPT = "keyfold/seconds"  # of each test file, in pytest's cache: those of its last run
OF_CI = Path(__file__).parent / ".ci" / "seconds"  # of long files, for a checkout's first run
LONG = 10  # seconds
MEMORY = Path("/dev/shm")
ROOM = 8 << 30


def has_room_in_memory() -> bool:
    """Whether the files of tests fit into memory, where waiting for a disk (fsync) takes no time;
    programs are started from there too.
    """
    if not MEMORY.is_dir():
        return False
    found, lines = os.statvfs(MEMORY), Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    return min(found.f_bavail * found.f_frsize, free) > ROOM and not found.f_flag & os.ST_NOEXEC


def seconds_of_ci() -> dict[str, float]:
    """The lines that CI printed at the end: a file after its seconds, and its slowest part."""
    lines = OF_CI.read_text(encoding="utf-8").splitlines() if OF_CI.exists() else []
    return {file: float(taken) for taken, file, *_ in map(str.split, lines)}


def pytest_configure(config: pytest.Config) -> None:
    """One seed for hypothesis and for `seed`: FIXED, or KEYFOLD_TEST_SEED, a number or `random`."""
    if "TMPDIR" not in os.environ and has_room_in_memory():
        tempfile.tempdir = str(MEMORY)
    asked = os.environ.get("KEYFOLD_TEST_SEED", str(FIXED))
    seed = random.SystemRandom().randrange(1 << 32) if asked == "random" else int(asked)
    config.stash[SEED] = seed
    os.environ["KEYFOLD_TEST_SEED"] = str(seed)  # that of pytest-xdist's processes too
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed)
    of_main, cache = getattr(config, "workerinput", {}).get(KEPT), getattr(config, "cache", None)
    of_last = {} if cache is None else cache.get(KEPT, {})  # no:cacheprovider
    config.stash[SECONDS] = seconds_of_ci() | of_last if of_main is None else of_main


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All processes of pytest-xdist have one order, whatever other runs write meanwhile."""
    node.workerinput[KEPT] = node.config.stash[SECONDS]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files that took long begin, so that no process works alone on one at the end."""
    long = {file: taken for file, taken in config.stash[SECONDS].items() if taken >= LONG}
    items.sort(key=lambda item: -long.get(item.nodeid.partition("::")[0], 0))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end: no garbage is looked for while they are made, and the
    collector does not visit them again, pytest's last looks included. Then Python frees what
    libraries count, and these say what is left.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)


def pytest_report_header(config: pytest.Config) -> str:
    """The seed of this session, in the header."""
    return f"seed: KEYFOLD_TEST_SEED={config.stash[SEED]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seconds of each test file, the longest first: where the time of `make test` goes. Files
    that are long for one test alone, or for what it starts or ends, are seen by that.
    """
    seconds: Counter[str] = Counter()
    slowest: dict[str, pytest.TestReport] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and not report.skipped:
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration
                slowest[file] = max(slowest.get(file, report), report, key=attrgetter("duration"))
    terminalreporter.section("seconds of each file")
    for file, taken in seconds.most_common():
        one = slowest[file]
        name = one.nodeid.partition("::")[2]
        most = f"  {one.duration:.1f} {one.when} {name}" if taken >= LONG else ""
        terminalreporter.write_line(f"{taken:7.1f}  {file}{most}")
    config = terminalreporter.config
    if getattr(config, "cache", None) is not None:
        config.cache.set(KEPT, config.stash[SECONDS] | seconds)


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """The session's seed, for numpy's or random's generators."""
    return pytestconfig.stash[SEED]
