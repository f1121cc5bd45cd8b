"""How a worker ended, one line at the end of its log: what the JVM shows when a worker is gone."""

import os
import signal


def sentence(pid: int, status: int) -> str:
    """For a wait status: "worker 12 ended: killed by signal 9 (SIGKILL)"."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"worker {pid} ended: exit code {code}"
    return f"worker {pid} ended: killed by signal {-code} ({signal_name(-code)})"


def signal_name(number: int) -> str:
    """SIGKILL for 9; a number without a name stays one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
