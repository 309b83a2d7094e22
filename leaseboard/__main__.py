"""The command ``leaseboard``, and ``python -m leaseboard``."""

import gc
import io
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class _Unbroken(io.FileIO):
    """Standard stream that goes on where its reader went away, as after ``| head -1``.

    Any other error, such as a full disk, is raised once, and what follows goes nowhere.
    """

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            if not isinstance(error, BrokenPipeError):
                raise OSError(
                    f"the standard output cannot be written ({error.strerror}): redirect it"
                ) from error
            return len(content)


def open_streams() -> None:
    """Make the three standard streams usable: one that is closed leads to ``/dev/null``.

    Otherwise the next file that is opened would take its number, and be written to by mistake.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    for name, number in (("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        if old is not None:
            old.flush()
        stream = io.TextIOWrapper(
            io.BufferedWriter(_Unbroken(number, "w", closefd=False)),
            encoding=old.encoding if old else "utf-8",
            errors="backslashreplace",
            line_buffering=number == 2 or os.isatty(number),
        )
        setattr(sys, name, stream)


def main() -> None:
    """Run the command line."""
    gc.set_threshold(100_000)  # thousands of results stay alive: a tenth of a rerun
    open_streams()
    from leaseboard.flows import cli

    cli.main()


def start() -> None:
    """Run it as ``python -m`` does: without the folder that Python then puts first on its path.

    As with the command, what is there, such as a file ``calendar.py``, is not imported.
    """
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != ROOT:
        del sys.path[0]
    main()


if __name__ == "__main__":
    start()
