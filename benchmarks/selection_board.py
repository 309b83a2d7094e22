"""The ranks of a run of selections by loss and seconds, as a table in Markdown.

``python -m benchmarks.selection_board runs/frameworks-selection`` prints the section
*Selection: loss and seconds* of the page of that run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.numbers import fixed, short
from leaseboard.tasks.score.selection import TOLERATED, standings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if the run has none."""
    parser = argparse.ArgumentParser(description="ranks of selections by loss and seconds")
    parser.add_argument("run", type=Path, help="the folder of a run")
    given = parser.parse_args(arguments)
    found = standings(as_frame(shown_at(given.run)))
    if found.empty:
        print(f"{given.run}: no selections of one size next to Full-run")
        return 1
    names = [f"{100 * each:g} %" for each in TOLERATED]
    print(
        f"| algorithm | {' | '.join(f'rank, {each} may be lost' for each in names)} | rank by loss"
        f" | rank by seconds | mean loss | worst loss | {' | '.join(f'above {n}' for n in names)}"
        " | CPU s | wall s | times faster | finished | failed | skipped |"
    )
    print("| --- |" + " ---: |" * (10 + 2 * len(names)))
    ranks = [*(f"rank at {each}" for each in TOLERATED), "rank by loss", "rank by seconds"]
    above = [f"above {each}" for each in TOLERATED]
    for label, each in found.iterrows():
        cells = [
            str(label),
            *(fixed(rank, 2) for rank in each[ranks]),
            *(fixed(loss, 4) for loss in each[["loss", "worst"]]),
            *(f"{n:g}" for n in each[above]),
            *(short(value, 3) for value in each[["cpu_seconds", "wall_seconds", "speedup"]]),
            *(f"{n:g}" for n in each[["finished", "failed", "skipped"]]),
        ]
        print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
