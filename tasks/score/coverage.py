"""Print how often ABC's intervals and its answers break their promise, by simulation.

``python -m tasks.score.coverage [--runs N]`` prints a line for every kind of interval and delta,
and exits with 1 if any promise is broken more often than chance explains.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from algorithms.abc_selection.bounds import KINDS
from algorithms.abc_selection.coverage import simulate

DELTAS = (0.5, 0.05)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print; 1 if a promise is broken too often."""
    parser = argparse.ArgumentParser(description="Coverage of ABC's intervals by simulation")
    parser.add_argument("--runs", type=int, default=500, help="of each kind (default: 500)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs {options.runs}: give at least 1")
    print("intervals  delta   runs  any interval missed  lost over epsilon  allowed")
    broken = False
    for kind in KINDS:
        for delta in DELTAS:
            found = simulate(kind, delta, options.runs)
            broken |= max(found.missed, found.lost) > found.allowed
            print(
                f"{kind:9} {delta:6.2f} {found.runs:6} {found.missed:20} {found.lost:18}"
                f" {found.allowed:8.1f}",
                flush=True,
            )
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main())
