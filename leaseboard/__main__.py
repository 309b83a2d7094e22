"""The command ``leaseboard``, and ``python -m leaseboard``."""

from __future__ import annotations

import sys
from pathlib import Path

from leaseboard._names import ROOT, check

USAGE = 64


def main() -> None:
    """Run the command line, or say in one line what hides it."""
    try:
        check("algorithms", "tasks", "flows")
    except ImportError as error:
        sys.stderr.write(f"leaseboard: {error}\n")
        sys.exit(USAGE)
    from flows import cli

    cli.main()


def start() -> None:
    """Run it as ``python -m`` does: without the folder that Python then puts first on its path.

    What stands there, such as a folder ``tasks``, is no more meant than by the command.
    """
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != ROOT:
        del sys.path[0]
    main()


if __name__ == "__main__":
    start()
