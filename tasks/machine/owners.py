"""Which process owns something that outlives processes, and whether it still runs."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import psutil


def owner() -> str:
    """Which process this is, by host, number, start and boot: numbers come again."""
    return _owner(os.getpid())


@cache
def _owner(pid: int) -> str:
    return f"{platform.node()} {pid} {started(pid):.2f} {_boot()}"


@cache
def _boot() -> str:
    """Which boot of this machine it is; empty where the system does not tell."""
    told = Path("/proc/sys/kernel/random/boot_id")
    return told.read_text().strip() if told.is_file() else ""


def started(pid: int) -> float:
    """When the process started, in seconds since the machine did: no clock that is set moves it.

    Raises psutil.NoSuchProcess if there is no such process.
    """
    while True:
        boot = psutil.boot_time()
        seconds: float = psutil.Process(pid).create_time() - boot
        if psutil.boot_time() == boot:  # else the clock was set in between
            return seconds


def is_alive(owner: str) -> bool:
    """Whether the process named by `owner` still runs; one on another host may."""
    host, _, rest = owner.partition(" ")
    pid, _, since = rest.partition(" ")
    if host and host != platform.node():
        return True
    try:
        over = psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
        return not over and f"{started(int(pid)):.2f} {_boot()}" == since
    except (ValueError, psutil.Error):
        return False
