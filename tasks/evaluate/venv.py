"""Python environments of frameworks: made on demand, with exact pins, apart from ours.

A framework brings versions of libraries that ours need not agree with, so it is never imported
here. `leaseboard.tasks.evaluate.framework_program` runs in its environment, which is found by the
hash of its pins in ``conf/frameworks``: other pins are another environment, and other stored
results.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from leaseboard.algorithms.errors import LeaseboardError, SkipError, unknown
from leaseboard.tasks.machine.environment import cache_dir, shipped_conf

_COMPLETE = "complete"
"""Written last: an environment whose installation was interrupted does not count."""


def names() -> list[str]:
    """Return the frameworks that have pins in ``conf/frameworks``."""
    return sorted(path.stem for path in (shipped_conf() / "frameworks").glob("*.txt"))


def pins(name: str) -> Path:
    """Return the requirements file of a framework; UsageError with the nearest name for others."""
    if name not in names():
        raise unknown("framework", name, names(), "leaseboard list frameworks")
    return shipped_conf() / "frameworks" / f"{name}.txt"


def digest(name: str) -> str:
    """Return a hash of the framework's pins and of the Python that runs them."""
    text = f"{sys.version_info[:2]}\n{pins(name).read_text(encoding='utf-8')}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def folder(name: str) -> Path:
    """Return the folder of the framework's environment, which may not exist."""
    return cache_dir() / "frameworks" / f"{name}-{digest(name)}"


def is_installed(name: str) -> bool:
    """Return whether the framework's environment is there and whole."""
    return (folder(name) / _COMPLETE).exists()


def python(name: str) -> Path:
    """Return the interpreter of a framework, ours for what has no pins.

    Raises SkipError, with the fix, where the framework is not installed.
    """
    if name not in names():
        return Path(sys.executable)
    if not is_installed(name):
        raise SkipError(
            f"{name} is not installed: it needs an environment of its own, which"
            f" 'leaseboard frameworks install {name}' makes"
        )
    return folder(name) / "bin" / "python"


def install(name: str) -> Path:
    """Make the framework's environment again, unless it is whole; return its folder.

    Raises LeaseboardError with the last line of the installer, when it fails.
    """
    place = folder(name)
    if is_installed(name):
        return place
    shutil.rmtree(place, ignore_errors=True)
    _call([sys.executable, "-m", "venv", str(place)], f"making the environment of {name}")
    _call(
        [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(pins(name))],
        f"installing {name}",
    )
    (place / _COMPLETE).touch()
    return place


def _call(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = next((line for line in said if line.startswith("ERROR")), (said or [""])[-1])
        raise LeaseboardError(f"{what} failed with code {done.returncode}: {reason}")
