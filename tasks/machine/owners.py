"""Owners of what outlives a process: which process that is, and whether it still runs."""

import os
import platform
from functools import cache
from pathlib import Path

import psutil


def owner() -> str:
    """Return the name of this process: host, number, start and boot, since numbers recur."""
    return _owner(os.getpid())


@cache
def _owner(pid: int) -> str:
    return f"{platform.node()} {pid} {started(pid):.2f} {_boot()}"


def operator() -> str:
    """Return the user of this process, and where it runs, for the record of what people do."""
    return f"{psutil.Process().username()} on {platform.node()}"


@cache
def _boot() -> str:
    """Return the identifier of this machine's boot; empty where the system has none."""
    file = Path("/proc/sys/kernel/random/boot_id")
    return file.read_text().strip() if file.is_file() else ""


def started(pid: int) -> float:
    """Return when the process started, in seconds since the boot, which no set clock moves.

    Raises psutil.NoSuchProcess if the process does not exist.
    """
    while True:
        boot = psutil.boot_time()
        seconds: float = psutil.Process(pid).create_time() - boot
        if psutil.boot_time() == boot:  # else the clock was set in between
            return seconds


def is_alive(owner: str) -> bool:
    """Return whether the process named by `owner` still runs; one on another host may."""
    host, _, rest = owner.partition(" ")
    pid, _, since = rest.partition(" ")
    if host and host != platform.node():
        return True
    try:
        over = psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
        return not over and f"{started(int(pid)):.2f} {_boot()}" == since
    except (ValueError, psutil.Error):
        return False
