"""A server of somebody else's in a process of its own, which ends with ours, however ours ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from leaseboard.tasks.processes.leash import Leash, descendants, is_over, kill_tree

STOP_SECONDS = 15.0
"""How long a server may take to end in good order."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""For a server's environment: no process of it takes a module from the folder that we are in."""
_POLL_SECONDS = 0.05


class Service:
    """Starts at once; `stop` ends it, and a leash does if this process is killed.

    - `environment`: of the new process; nothing else is in it.
    - `log`: gets what the server says; it goes where ours goes by default.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes] | None = None
    ) -> None:
        self._leash = Leash()
        # A session of its own: Ctrl-C in a terminal must not reach it before we end it.
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._leash.watch(self.pid)

    def exit_code(self) -> int | None:
        """What the server's first process ended with; None while it runs."""
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        code = self._ended(0)
        assert code is not None
        return code

    def stop(self) -> None:
        """End it with all that it started: in good order, then by force.

        The first process is asked alone, for it may end the others in an order of its own; those
        that it leaves behind are asked next. Done twice it does nothing.
        """
        if self._process.returncode is not None:
            return
        family = [self.pid, *descendants(self.pid)]
        deadline = time.monotonic() + STOP_SECONDS
        os.kill(self.pid, signal.SIGTERM)
        while self.exit_code() is None and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
        while not all(map(is_over, family)) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        kill_tree(self.pid)
        self._process.wait()
        self._leash.forget(self.pid)
        self._leash.close()

    def _ended(self, options: int) -> int | None:
        """The exit code; the process stays a zombie, so that its number is no other's yet."""
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def answers(port: int) -> bool:
    """Whether anybody listens at `port` of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True
