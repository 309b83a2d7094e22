"""Processes that carry out orders, one after another, and the program that they run.

A `Worker` is used again while it is well, because importing the learners takes seconds. For
untrusted code it forks for each order, so no other order meets what that changes.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from leaseboard.tasks.processes.child import (
    Child,
    EndedError,
    Stop,
    messages,
    named,
    to_parent,
)
from leaseboard.tasks.processes.limits import Ending, Limits
from leaseboard.tasks.processes.watchdog import adopt_orphans, kill_below

if TYPE_CHECKING:
    from leaseboard.tasks.pool.log import Output

Carries = Callable[[dict[str, Any]], dict[str, Any]]
"""Carries out an order and returns the answer, both in JSON's types."""

START = Limits(wall_seconds=120.0)
"""How long a worker may import; no order is charged for it."""
STALE_BYTES = 1 << 30
"""Memory of a worker above which it takes no further order, so that the next starts small."""


class Worker:
    """Worker process, as its parent sees it, in a session of its own.

    Attributes
    ----------
    child : Child
        The process.
    fit : bool
        Whether it has carried out an order and can take another one.

    Parameters
    ----------
    handler : str
        The ``module:function`` that the program calls once, with `argument` and `forks`: it
        imports what orders need, and returns what carries them out.
    argument : str
        For the handler.
    forks : bool
        Whether an order, whose code is untrusted, runs in a fork, which ends with it.
    who : str
        Its name in reasons.
    output : Output, optional
        Gets what it prints; without it that is dropped.
    env : mapping, optional
        Variables in addition to our own, which other users cannot read, as they can arguments.
    """

    def __init__(
        self,
        handler: str,
        argument: str = "",
        *,
        forks: bool,
        who: str,
        output: Output | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        target = subprocess.DEVNULL if output is None else output.theirs
        self.child = Child.start_module(
            "leaseboard.tasks.processes.worker",
            *(handler, argument, str(int(forks)), who),
            env=env,
            who=who,
            forks=forks,
            stdout=target,
            stderr=target,
            start_new_session=True,
        )
        self.fit = self._ready = False
        self._output = output
        if output is not None:
            os.close(output.theirs)

    def wait_until_ready(self, check: Callable[[], None] = lambda: None) -> None:
        """Wait until it has imported what orders need; EndedError if it ends before."""
        if not self._ready:
            self.child.answer(START, check=check, output=self._output)
            self._ready = True

    def carry_out(
        self,
        order: Mapping[str, Any],
        limits: Limits,
        *,
        grace: float = 0.0,
        check: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """Return the answer to an order, ``{"stopped": True}`` if a signal ended it.

        What it left behind is ended.

        - `limits`, `grace`, `check`: see `Child.answer`.

        Raises EndedError if there is none: the fork, or the process, has ended or was killed.
        """
        self.fit = False
        self.wait_until_ready(check)
        self.child.send(json.dumps(order, default=str).encode())
        said = self.child.answer(limits, grace=grace, check=check, output=self._output)
        answer: dict[str, Any] = json.loads(said)
        clean = kill_below(self.child.pid)
        self.fit = clean and "stopped" not in answer and self.child.memory < STALE_BYTES
        if "ending" in answer:
            raise EndedError(Ending(*answer["ending"]))
        return answer


def main(handler: str, argument: str, forks: str, who: str) -> None:
    """Import what orders need, then carry them out until the parent closes its end."""
    channel, parent = to_parent(), os.getppid()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):  # a job may print what the terminal here cannot show
        cast("TextIOWrapper", stream).reconfigure(errors="backslashreplace")
    in_forks = bool(int(forks))
    try:
        carry_out = named(handler)(argument, in_forks)
        channel.send_bytes(b"ready")
        for message in messages(channel):
            order = json.loads(message)
            if in_forks:
                channel.send_bytes(_fork(carry_out, order, channel, who, parent))
            else:
                channel.send_bytes(_run(carry_out, order))
    except Stop:
        sys.exit(0)


def _run(carry_out: Carries, order: dict[str, Any]) -> bytes:
    """Return the answer to an order."""
    os.chdir(order["cwd"])  # an earlier order may have changed what belongs to the process
    signal.signal(signal.SIGTERM, _stop)
    try:
        answer = carry_out(order)
    except Stop:
        answer = {"stopped": True}
    sys.stdout.flush()
    sys.stderr.flush()
    return json.dumps(answer, default=str).encode()


def _end_with(parent: int) -> None:
    if os.getppid() != parent:
        raise Stop


def _fork(
    carry_out: Carries, order: dict[str, Any], channel: Connection, who: str, parent: int
) -> bytes:
    """Return the answer of a fork, or how it ended."""
    with suppress(ChildProcessError):  # orphans of earlier orders, which have been killed
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the fork takes it, as one of our group
    work = partial(_run, carry_out, order)
    with Child.fork(work, closed=[channel.fileno()], who=who) as child:
        try:
            answer = child.answer(check=partial(_end_with, parent))
        except EndedError as end:
            answer = json.dumps({"ending": end.ending}).encode()
    signal.signal(signal.SIGTERM, _stop)
    return answer


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Stop


if __name__ == "__main__":
    main(*sys.argv[2:])
