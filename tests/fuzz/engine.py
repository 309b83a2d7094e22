"""A process that runs cases under limits, and notes each fault; its parent notes how it ended."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import resource
import shutil
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

SECONDS = 10
"""Of CPU that a case may take: beyond that it hangs."""
BYTES = 1 << 30
"""By which a case may raise the memory of its process."""
LONGEST = 1000
"""Characters of an error."""

COUNTS = struct.Struct("<qqqq")
"""Of the case that runs, and how many were read, refused, and at fault."""

_FORBIDDEN = frozenset({
    "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class",
    "socket.connect", "ctypes.dlopen",
})  # fmt: skip
_WRITTEN = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class ForbiddenError(BaseException):
    """Error of a reader that runs a program, unpickles, connects, or writes elsewhere."""


class Guard:
    """What readers must not do, seen by Python's audit of this process."""

    def __init__(self) -> None:
        self.allowed: tuple[str, ...] | None = None
        self.seen = ""
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if self.allowed is None:
            return
        if event in _FORBIDDEN and not (event == "pickle.find_class" and _by_numba(args)):
            self.seen = f"{event} {args!r}"[:300]
        elif event == "open" and isinstance(args[0], str | bytes) and args[2] & _WRITTEN:
            path = os.path.abspath(os.fsdecode(args[0]))  # noqa: PTH100
            if not path.startswith(self.allowed):
                self.seen = f"writes {path[:200]}"

    @contextmanager
    def over(self, *folders: str) -> Iterator[None]:
        """Raise ForbiddenError if the block does what it must not."""
        self.allowed, self.seen = folders, ""
        try:
            yield
        finally:
            self.allowed = None
            if self.seen:
                raise ForbiddenError(self.seen)


def _by_numba(args: tuple[Any, ...]) -> bool:
    """Return whether numba reads a kernel, or an error that a kernel raises: it pickles both."""
    if str(args[-1]).endswith("Error"):
        return True
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("algorithms/compilation.py"):
            return True
        frame = frame.f_back
    return False


def fault_of(error: BaseException) -> str:
    """Return why an error is a fault, with its place; empty for a refusal in one line."""
    from leaseboard.algorithms.errors import LeaseboardError

    if isinstance(error, LeaseboardError):
        said = str(error)
        if "\n" in said:
            return f"{_place(error)}: more than one line"
        if len(said) > LONGEST:
            return f"{_place(error)}: {LONGEST} characters are not enough"
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError):
                return f"{_place(cause)}: asks for more memory than there is"
            cause = cause.__cause__ or cause.__context__
        return ""
    return f"{_place(error)}: {type(error).__name__}: {str(error)[:300]}"


def _place(error: BaseException) -> str:
    """Return the last place of ours in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f
        for f in frames
        if "site-packages" not in f.filename and "/tests/fuzz/engine" not in f.filename
    ]
    frame = (ours or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}"


def case(target: Any, name: str, seed: int, number: int, seeds: list[bytes]) -> bytes:
    """Return the content of a case; the first are the valid contents themselves."""
    if number < len(seeds):
        return seeds[number]
    made: bytes = target.mutate(Random(f"{name} {seed} {number}"), seeds)
    return made


def seeds_of(name: str, folder: Path) -> list[bytes]:
    """Return the valid contents of a target, made once, and those of the corpus."""
    from tests.fuzz.targets import TARGETS

    place = folder / "seeds" / name
    if not place.is_dir():
        part = place.with_name(f"{name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for number, content in enumerate(TARGETS[name].seeds()):
            (part / f"{number:03}").write_bytes(content)
        part.rename(place)
    return [path.read_bytes() for path in sorted(place.iterdir())]


def attempt(
    target: Any, content: bytes, folder: Path, guard: Guard | None = None
) -> tuple[bool, str]:
    """Return whether the content was read, and what is at fault."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    Path("/proc/self/clear_refs").write_text("5")  # the peak of earlier work would hide this one's
    before = _peak()
    try:
        if guard is None:
            target.read(content, folder)
        else:
            with guard.over(str(folder), tempfile.gettempdir() + "/tmp", "/tmp/fuzz-", "/dev/"):
                target.read(content, folder)
        is_read, fault = True, ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  (each is what is looked for)
        is_read, fault = False, fault_of(error)
    grown = _peak() - before
    if not fault and grown > BYTES:
        fault = f"memory: {grown >> 20} MB more"
    return is_read, fault


def _peak() -> int:
    """Return the most bytes of memory that this process has had since its peak was cleared."""
    (line,) = re.findall(
        r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE
    )
    return int(line) << 10


def work(name: str, seed: int, first: int, last: int, out: Path) -> None:
    """Run the cases from `first` to before `last`; the counts are in a file that outlives us."""
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    os.environ["LEASEBOARD_CACHE"] = str(out / "cache")
    seeds = seeds_of(name, out)
    home = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    guard = Guard()
    place = (out / f"{name}.counts").open("r+b")
    shared = mmap.mmap(place.fileno(), COUNTS.size)
    read, refused, faulty = COUNTS.unpack(shared)[1:]
    for content in seeds:  # what is imported and compiled is in place before anything is limited
        with suppress(Exception):
            attempt(target, content, home / "case")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 3 * BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
    os.chdir(home)
    listing = {"case"}
    for number in range(first, last):
        COUNTS.pack_into(shared, 0, number, read, refused, faulty)
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        content = case(target, name, seed, number, seeds)
        is_read, fault = attempt(target, content, home / "case", guard)
        if not fault and (more := {each.name for each in home.iterdir()} - listing):
            fault = f"files outside of its folder: {sorted(more)}"
            listing |= more
        if fault:
            faulty += 1
            note(out, name, seed, number, fault, content)
        elif is_read:
            read += 1
        else:
            refused += 1
    COUNTS.pack_into(shared, 0, last, read, refused, faulty)
    os.chdir("/")
    shutil.rmtree(home, ignore_errors=True)


def note(out: Path, name: str, seed: int, number: int, fault: str, content: bytes) -> None:
    """Write down a fault; of each place the smallest content stays."""
    line = {"target": name, "seed": seed, "case": number, "fault": fault, "size": len(content)}
    with (out / "faults.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    kind = hashlib.sha256(":".join(fault.split(":")[:4]).encode()).hexdigest()[:10]
    path = out / "faults" / f"{name}-{kind}"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.stat().st_size > len(content):
        path.write_bytes(content)
