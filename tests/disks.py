"""Small file systems of their own, which tests fill, or make read-only: root mounts them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_mount = pytest.mark.skipif(
    os.getuid() != 0
    or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode
    != 0,
    reason="mounting a small file system needs root",
)


@contextmanager
def small(folder: Path, *, size: str = "4m", inodes: int = 0) -> Iterator[Path]:
    """A file system of so many bytes and inodes (0: as many as there may be) at a new folder."""
    folder.mkdir()
    options = f"size={size},nr_inodes={inodes}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def make_read_only(folder: Path) -> None:
    """What a disk with errors does to itself."""
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)


def use_up_inodes(folder: Path, *, but: int = 0) -> list[Path]:
    """Empty files, until no further one, or only so many, can be made; remove them for room."""
    made = []
    for number in range(os.statvfs(folder).f_ffree - but):
        made.append(folder / f"filler-{number}")
        made[-1].touch()
    return made
