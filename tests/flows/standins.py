"""Jobs that behave badly, each by the name of its data; run by the worker pool's tests."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from leaseboard.algorithms.errors import DataUnavailableError, DivergedError, LeaseboardError
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Finished,
    LeaseGranted,
    LogWriter,
    Measured,
    Started,
)
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.pool.worker import FILE_BYTES

CONFIGURATIONS = 3


def events(job):
    """Yield a short, whole log that depends on the seed alone."""
    yield Started(
        at=0, algorithm=job.algorithm, environment="stream", unit="examples", budget=100,
        capacity=2, seed=job.seed, settings=dict(job.settings),
    )  # fmt: skip
    for number in range(CONFIGURATIONS):
        yield ConfigurationAdmitted(at=0, configuration=number, parameters={"rate": number / 10})
    yield LeaseGranted(at=0, configuration=0, amount=50, slot=0)
    yield ChampionChanged(at=0, configuration=0, previous=None)
    yield Measured(at=10, value=job.seed / 7)
    yield BoundsUpdated(at=50, configuration=0, value=0.3, lower=0.2, upper=0.4, units=50)
    yield Measured(at=100, value=job.seed / 10)
    yield Finished(
        at=100, reason="budget spent", score=job.seed / 10, metric="progressive_mse",
        direction="min", metrics={"models_per_example": 1.0},
    )  # fmt: skip


def key_of(job):
    return job.key("digest", "version")


def run_job(job, folder, *, prepared=None, sinks=()):
    with LogWriter(folder / "events.jsonl.gz") as log:
        for event in events(job):
            log(event)
            if event.at == 10:
                misbehave(job.settings.get("on", job.data))
    return Result(
        key=key_of(job), algorithm=job.algorithm, name=job.name, data=job.data,
        digest=f"sha-{job.data}", seed=job.seed, environment_seed=job.environment_seed,
        repetition=job.repetition, status="ok", score=job.seed / 10,
        metric="progressive_mse", metrics={"models_per_example": 1.0}, unit="examples",
        units=100, cpu_seconds=0.01, wall_seconds=0.01, environment="stream",
        events="events.jsonl.gz", version="version", started="2026-01-01T00:00:00+00:00",
        settings=dict(job.settings), champion={"rate": 0.0},
    )  # fmt: skip


def misbehave(how):
    how, _, argument = how.partition(":")
    BEHAVIOUR.get(how, lambda _: None)(argument)


def _raise(error):
    raise error


def _wait_for(gate):
    """Say that one is there, and go on when the file `gate` is."""
    Path(f"{gate}.{os.getpid()}").touch()
    while not Path(gate).exists():
        time.sleep(0.02)


def _hold_the_interpreter(_):
    """Sleep in C with the interpreter's lock held: no Python code runs, no handler either."""
    ctypes.PyDLL(None).sleep(600)


def _eat_in_child(_):
    code = "x = b'x' * 900_000_000; import time; time.sleep(600)"
    subprocess.run([sys.executable, "-c", code], check=True)


def _fork(pid_file):
    """Leave an orphan in a session of its own behind."""
    code = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    subprocess.run([sys.executable, "-c", code, pid_file], check=True)
    while not (Path(pid_file).exists() and Path(pid_file).stat().st_size):
        time.sleep(0.01)


def _garbage(_):
    sys.stdout.write('{"result": {"status": "ok"}}\n' * 1000)
    os.write(1, b"\xff\x00garbage\n")
    os.write(2, b"more\n")


def _print(count):
    os.write(1, b"first\n")
    sys.stdout.write("x" * int(count) + "\nlast\n")


def _print_on(_):
    while True:
        os.write(1, b"x" * 65536)


def _print_on_in_child(_):
    subprocess.run(["yes"], check=True)


def _threads(_):
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()


def _fill(_):
    """Write to a disk that is full."""
    with Path("/dev/full").open("wb", buffering=0) as disk:
        disk.write(b"x")


def _write_on(path):
    with Path(path).open("ab") as file:
        file.truncate(FILE_BYTES)  # holes take no disk
        file.write(b"x")


BEHAVIOUR = {
    "fill": _fill,
    "write-on": _write_on,
    "raise": lambda text: _raise(ValueError(text)),
    "audit": lambda text: _raise(LeaseboardError(text)),
    "unavailable": lambda text: _raise(DataUnavailableError(text)),
    "diverge": lambda text: _raise(DivergedError(text)),
    "memory": lambda _: _raise(MemoryError()),
    "exit": lambda code: sys.exit(int(code)),
    "die": lambda code: os._exit(int(code)),
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "terminate": lambda _: os.kill(os.getpid(), signal.SIGTERM),
    "segfault": lambda _: ctypes.string_at(0),
    "sleep": lambda seconds: time.sleep(float(seconds)),
    "wait": _wait_for,
    "hold": _hold_the_interpreter,
    "eat-in-child": _eat_in_child,
    "fork": _fork,
    "garbage": _garbage,
    "print": _print,
    "print-on": _print_on,
    "print-on-in-child": _print_on_in_child,
    "threads": _threads,
    "chdir": lambda _: os.chdir("/"),
    "mute": lambda _: setattr(sys, "stdout", None),
}
