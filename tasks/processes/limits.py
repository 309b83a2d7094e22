"""Limits of child processes, and their endings."""

from __future__ import annotations

import signal
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Limit = Annotated[float, Field(gt=0, le=1e9)]
"""Seconds or megabytes: more than any machine has, and no more than timers and limits accept."""


WALL_FACTOR, WALL_GRACE = 10, 30.0
"""Wall seconds of work on one thread: so many times its CPU seconds, and so many more."""


class Ending(NamedTuple):
    """Status of a job, trial or call, and the reason in one line; empty for ``ok``.

    `lasting` says that a repetition would end equally: a kill, or too little memory, depends on
    the machine.
    """

    status: str
    reason: str = ""
    lasting: bool = True


class Limits(BaseModel):
    """Limits of one job, beyond which it is stopped; None means no limit.

    CPU seconds and memory are those of a process with all that it started. A job that prints more
    than `output_mb` goes on, and its log is cut.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    wall_seconds: Limit | None = None
    """Wall time."""
    cpu_seconds: Limit | None = None
    """CPU time."""
    memory_mb: Limit | None = None
    """Megabytes of memory."""
    output_mb: Limit | None = 64.0
    """Megabytes that it may print; its log is cut there, and it continues."""

    def breach(self, cpu: float, wall: float, memory: float) -> Ending | None:
        """Return the ending of what took so many seconds and bytes; None within the limits.

        Examples
        --------
        >>> Limits(wall_seconds=3).breach(cpu=0.5, wall=3.1, memory=0).reason
        'over the limit of 3 s of wall time'
        """
        for limit, used, status, what, lasting in (
            (self.wall_seconds, wall, "timeout", "s of wall time", True),
            (self.cpu_seconds, cpu, "timeout", "s of CPU time", True),
            (self.memory_mb, memory / 1e6, "memout", "MB of memory", False),
        ):
            if limit is not None and used > limit:
                return Ending(status, f"over the limit of {limit:g} {what}", lasting)
        return None


def of_one_thread(cpu_seconds: float, memory_mb: float | None = None) -> Limits:
    """Return the limits of work on one thread, which also ends when it waits for very long."""
    wall = cpu_seconds * WALL_FACTOR + WALL_GRACE
    return Limits(cpu_seconds=cpu_seconds, wall_seconds=wall, memory_mb=memory_mb)


def post_mortem(code: int, who: str) -> Ending:
    """Return the ending of a process without an answer, by its exit code.

    - `code`: as `subprocess.Popen.returncode`: the negative number of the signal that killed it.

    Examples
    --------
    >>> post_mortem(7, "the learner").reason
    'the learner ended with exit code 7'
    >>> post_mortem(-40, "the learner").reason
    'killed by signal 40'
    """
    if code >= 0:
        return Ending("crash", f"{who} ended with exit code {code}")
    names = {each.value: each.name for each in signal.Signals}  # those for real time have none
    killed = f"killed by {names.get(-code, f'signal {-code}')}"
    if -code != signal.SIGKILL:
        return Ending("crash", killed)
    # Not by us: who kills knows why.
    return Ending("crash", f"{killed} (the system does that when memory runs out)", lasting=False)
