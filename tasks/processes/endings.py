"""How what ran in a process of its own ended, in the words of a job's status."""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass

from leaseboard.tasks.processes.channel import Silence


@dataclass(frozen=True, slots=True)
class Ending:
    """A status of a job, and the reason in one line; ``ok`` needs none.

    `lasting` says that it would end so again: to be killed, or to want memory, says more of the
    machine than of the work.
    """

    status: str
    reason: str = ""
    lasting: bool = True


def over_cpu(seconds: float) -> Ending:
    """It used more CPU time than it may."""
    return Ending("timeout", f"over the limit of {seconds:g} s of CPU time")


def over_wall(seconds: float) -> Ending:
    """It took longer than it may."""
    return Ending("timeout", f"over the limit of {seconds:g} s of wall time")


def over_memory(megabytes: float) -> Ending:
    """It used more memory than it may."""
    return Ending("memout", f"over the limit of {megabytes:g} MB of memory", lasting=False)


def post_mortem(code: int, who: str, cpu_seconds: float | None = None) -> Ending:
    """What the exit code of a process says that ended without an answer.

    - `code`: as `subprocess.Popen.returncode`: the negative number of the signal that killed it.
    - `cpu_seconds`: its limit, at which the kernel sends a signal.

    Examples
    --------
    >>> post_mortem(-9, "the learner").lasting
    False
    >>> post_mortem(7, "the learner").reason
    'the learner ended with exit code 7'
    """
    if code >= 0:
        return Ending("crash", f"{who} ended with exit code {code}")
    if cpu_seconds is not None and -code in {signal.SIGXCPU, signal.SIGPROF}:
        return over_cpu(cpu_seconds)
    killed = f"killed by {signal_name(-code)}"
    if -code == signal.SIGKILL:  # whom we kill, we do not ask why it died
        killed += " (the system does that when memory runs out)"
        return Ending("crash", killed, lasting=False)
    return Ending("crash", killed)


def no_answer(
    silence: Silence,
    code: int | None,
    who: str,
    *,
    cpu_seconds: float | None = None,
    wall_seconds: float = math.inf,
) -> Ending:
    """How a child ended that did not answer: too long an answer, no end, or its exit code."""
    if silence is Silence.LONG:
        return Ending("crash", str(silence))
    if silence is Silence.LATE or code is None:
        return over_wall(wall_seconds)
    return post_mortem(code, who, cpu_seconds)


def signal_name(number: int) -> str:
    """The name of a signal; those for real time have none.

    Examples
    --------
    >>> signal_name(9), signal_name(40)
    ('SIGKILL', 'signal 40')
    """
    return {each.value: each.name for each in signal.Signals}.get(number, f"signal {number}")
