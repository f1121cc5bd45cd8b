"""The private directory of one fork server: socket, lock, a log and a scratch folder per worker.

It is in a folder where no other user can put another in its place, as whoever answers at the socket
is believed. The server makes and removes it. A killed server can't: the next one that starts beside
it removes directories whose lock is no longer held.
"""

import fcntl
import os
import secrets
import shutil
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from keyfold.errors import EnvironmentMismatchError
from keyfold.resources.private_folders import may_others_change

LOCK = "keyfold.lock"
KEPT_LOGS = 20
PLACES = ("/tmp", "/var/tmp", "/dev/shm")
LONGEST = 80  # of its path: a socket's name has room for few more


@dataclass(frozen=True)
class PrivateDirectory:
    """Paths of the files; `lock` is an open descriptor whose lock is held while the server lives.

    `kept` are the logs of workers that ended badly, the newest last; at most KEPT_LOGS of them.
    """

    path: Path
    lock: int
    kept: deque[Path] = field(default_factory=deque)

    @property
    def socket(self) -> Path:
        """The socket that the JVM connects to."""
        return self.path / "fork.sock"

    def take_errors(self) -> None:
        """Put stdout and stderr of this process into a file, where the JVM finds why it ended."""
        errors = os.open(self.path / "server.err", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        os.close(errors)

    def log(self, pid: int) -> Path:
        """The file with the stderr of worker `pid` and, at its end, how it ended."""
        return self.path / f"worker-{pid}.log"

    def scratch(self, pid: int) -> Path:
        """The temporary directory of worker `pid`."""
        return self.path / f"scratch-{pid}"

    def forget(self, pid: int, keep_log: bool) -> None:
        """Remove the files of a worker that ended, except its log if it ended badly."""
        shutil.rmtree(self.scratch(pid), ignore_errors=True)
        if keep_log:
            self.kept.append(self.log(pid))
        else:
            self.log(pid).unlink(missing_ok=True)
        while len(self.kept) > KEPT_LOGS:
            self.kept.popleft().unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def create(temporary: str) -> Path:
    """A new directory in the first of the JVM's folder for temporary files and the usual ones where
    no other user can replace it. Raises EnvironmentMismatchError if there is none.
    """
    refusals = []
    for place in dict.fromkeys((temporary, *PLACES)):
        try:
            made = Path(place).resolve(strict=True) / f"keyfold-{secrets.token_hex(6)}"
            refusal = unfit(made)
            if refusal is None:
                made.mkdir(mode=0o700)
                return made
        except OSError as e:
            refusal = f"{place}: {e.strerror}"
        refusals.append(refusal)
    raise EnvironmentMismatchError(
        "keyfold needs a folder for the socket of its Python processes that no other user can "
        f"replace: {'; '.join(refusals)}. Take the right to write from others, or set the sticky "
        "bit (chmod +t), or name another folder with -Djava.io.tmpdir "
        "(spark.driver.extraJavaOptions, spark.executor.extraJavaOptions)."
    )


def unfit(path: Path) -> str | None:
    """The reason why a directory can't be there; None if it can."""
    if len(os.fsencode(path)) >= LONGEST:
        return f"the path of {path.parent} is too long"
    found = map(may_others_change, reversed(path.parents))  # downwards: those above can't change
    return next((refusal for refusal in found if refusal), None)


def claim(path: Path) -> PrivateDirectory:
    """Lock a new directory; remove those beside it whose server is dead."""
    path.chmod(0o700)
    lock = os.open(path / f"{LOCK}.new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (path / f"{LOCK}.new").rename(path / LOCK)
    for beside in path.parent.glob(f"*/{LOCK}"):
        if beside.parent != path and is_abandoned(beside):
            shutil.rmtree(beside.parent, ignore_errors=True)
    return PrivateDirectory(path, lock)


def is_abandoned(lock: Path) -> bool:
    """Whether this is our lock file, in a folder of ours, and no process holds it."""
    try:
        if {lock.parent.lstat().st_uid, lock.lstat().st_uid} != {os.getuid()}:
            return False
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
