"""What tests of processes wait for; a loaded machine must not fail them."""

import contextlib
import itertools
import os
import socket
import time

from leaseboard.tasks.processes.watchdog import is_over

_numbers = itertools.count(40 * os.getpid())


def until(holds, process=None, said=lambda: "", within=900.0):
    """Wait until `holds` returns something, which is returned, while `process` runs."""
    deadline, pause = time.monotonic() + within, 0.01
    while not (found := holds()):
        assert process is None or process.poll() is None, said()
        assert time.monotonic() < deadline, said()
        time.sleep(pause)
        pause = min(1.2 * pause, 0.3)  # an answer costs who is asked
    return found


def has_ended(pid):
    """Return whether a process has gone, or is a zombie that its parent leaves."""
    return is_over(pid)


def free_port():
    """Return a port below those that the system gives to others between our call and its use."""
    while True:
        port = 10_000 + next(_numbers) % 20_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
