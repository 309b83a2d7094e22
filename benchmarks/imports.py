"""What importing a name costs, and a race on a small file: ``python -m benchmarks.imports``.

Prints the median CPU seconds, user's and system's, of fresh processes, one for each name of
`leaseboard` and alternately, next to what numpy, pandas and scikit-learn cost by themselves: CPU
seconds of a busy machine are up to twice those of a quiet one, so compare within one run.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import leaseboard

ROWS = 2000
ALONE = ("import numpy", "import pandas", "import sklearn.base")
RACE = "from leaseboard import race; race(['online-automl', 'vanilla'], 'small.csv', target='y')"


def spent(code: str, folder: Path) -> float:
    """Return CPU seconds of a fresh process that runs `code` in `folder`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(codes: Sequence[str], turns: int) -> dict[str, float]:
    """Return the median of each of `codes`, after an uncounted round that fills the caches."""
    found: dict[str, list[float]] = {code: [] for code in codes}
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(f"{i % 7},{i % 5},{i % 7 * (i % 5) + i % 3 / 8}\n" for i in range(ROWS))
        Path(folder, "small.csv").write_text("a,b,y\n" + rows, encoding="utf-8")
        for turn in range(turns + 1):
            for code in codes:
                seconds = spent(code, Path(folder))
                if turn:
                    found[code].append(seconds)
    return {code: statistics.median(seconds) for code, seconds in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line for each."""
    parser = argparse.ArgumentParser(description="CPU seconds of imports and of a small race")
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args(arguments).turns
    names = [f"from leaseboard import {name}" for name in leaseboard.PLACES]
    for code, seconds in measure([*ALONE, *names, RACE], turns).items():
        print(f"{seconds:6.2f}  {code}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
