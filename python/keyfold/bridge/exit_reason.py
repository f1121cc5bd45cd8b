"""How a worker ended, one line at the end of its log: what the JVM shows when a worker is gone."""

import os
import signal

from keyfold.bridge.memory import OPTION

# C++ that meets its cap where it can't say so (std::bad_alloc in a thread, a null pointer) ends so.
_OUT_OF_MEMORY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)


def sentence(pid: int, status: int, *, is_capped: bool = False) -> str:
    """For a wait status: "worker 12 ended: killed by signal 9 (SIGKILL)"; of one with a cap on its
    memory also the option to raise, where that may be why.
    """
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"worker {pid} ended: exit code {code}"
    said = f"worker {pid} ended: killed by signal {-code} ({signal_name(-code)})"
    if is_capped and -code in _OUT_OF_MEMORY:
        return f"{said}, as libraries do that get no more memory: if so, raise {OPTION}"
    return said


def signal_name(number: int) -> str:
    """SIGKILL for 9; a number without a name stays one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
