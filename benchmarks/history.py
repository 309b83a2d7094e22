"""History of speed by commit: a record of a few ways for each commit, and a page of trends.

``python -m benchmarks.history record`` times each way next to a reference of Python and NumPy
alone, in one process and in turns, and appends a line to ``benchmarks/history.jsonl``. What a line
holds is CPU time as a multiple of the reference's, so records of several machines and days compare
roughly; only lines of one machine and day compare to a few per cent. ``python -m
benchmarks.history record --tree FOLDER`` times the code of another checkout. ``python -m
benchmarks.history page`` writes ``docs/benchmarks/history.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import Way, measure, ratio

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "benchmarks" / "history.jsonl"
PAGE = ROOT / "docs" / "benchmarks" / "history.md"
REFERENCE = "reference"
ROWS = 1000
REPEATS = 7
SLOWER = 1.25
"""Times the ratio of the record before, on the same machine, from which on the page marks it."""


def ways() -> list[Way]:
    """Return what is timed: the reference, and users' calls."""
    from leaseboard import ChaChaRegressor
    from leaseboard.tasks.fetch import files

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 10)), columns=[f"x{i}" for i in range(10)])
    y = X["x0"] * 3 + X["x1"] * X["x2"] + rng.normal(size=ROWS)
    rows = X.head(200).to_dict("records")
    learned = ChaChaRegressor(seed=0)
    learned.learn_many(X, y)
    place = Path(tempfile.mkdtemp()) / "rows.csv"
    X.assign(y=y).to_csv(place, index=False)

    def reference() -> None:
        words: dict[str, float] = {}
        for i in range(20_000):
            words[f"{i % 997}"] = words.get(f"{i % 997}", 0.0) + i * 0.5
        values = np.arange(100_000.0)
        for _ in range(10):  # no product of matrices, which threads share
            values = np.sort(np.tanh(values[::-1] / 1000.0)) * 1000.0

    def learn() -> None:
        ChaChaRegressor(seed=0).learn_many(X, y)

    def one_by_one() -> None:
        model = ChaChaRegressor(seed=0)
        for row, label in zip(rows, y, strict=False):
            model.predict_one(row)
            model.learn_one(row, label)

    def predict() -> None:
        learned.predict_many(X)

    def read() -> None:
        files.read(str(place))

    return [
        Way(REFERENCE, ROWS, reference),
        Way("learn_many, 1,000 rows", ROWS, learn),
        Way("predict_many, 1,000 rows", ROWS, predict),
        Way("predict_one and learn_one, 200 rows", ROWS, one_by_one),
        Way("csv of 1,000 rows", ROWS, read),
    ]


def record(tree: Path) -> dict[str, Any]:
    """Return the ratios of the code in `tree`, by way, and where they were measured."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(tree), *words]
        done = subprocess.run(command, capture_output=True, check=True)
        return done.stdout.decode().strip()

    timings = measure(ways(), REPEATS)
    names = [each.name for each in timings if each.name != REFERENCE]
    return {
        "commit": git("rev-parse", "HEAD")[:8],
        "committed": git("show", "-s", "--format=%cI", "HEAD"),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(),
        "python": platform.python_version(), "runs": REPEATS,
        "ratios": {name: round(ratio(timings, name, REFERENCE), 4) for name in names},
    }  # fmt: skip


def machine() -> str:
    """Return the model of the processor, and how many it has."""
    found = platform.processor() or platform.machine()
    if (place := Path("/proc/cpuinfo")).is_file():
        lines = place.read_text(encoding="utf-8").splitlines()
        found = next((each.partition(": ")[2] for each in lines if "model name" in each), found)
    return f"{found}, {os.cpu_count()} cores"


def page(records: Sequence[dict[str, Any]]) -> str:
    """Return the page of trends: a table for each machine, in the order of the commits."""
    text = f"""\
# Speed by commit

CPU time as a multiple of a reference of Python and NumPy alone, which runs in turns with each way
in the same process: medians of {REPEATS} runs. Less is faster. **Bold**: at least {SLOWER:.2f}
times the record before on the same machine.

`python -m benchmarks.history record` appends a record of the present commit to
`benchmarks/history.jsonl`, `python -m benchmarks.history page` writes this page.
"""
    for name in dict.fromkeys(each["machine"] for each in records):
        mine = sorted((e for e in records if e["machine"] == name), key=lambda e: e["committed"])
        heads = list(dict.fromkeys(way for each in mine for way in each["ratios"]))
        lines = [["commit", "of", "measured", *heads], ["---"] * 3 + ["---:"] * len(heads)]
        before: dict[str, float] = {}
        for each in mine:
            cells = [f"`{each['commit']}`", each["committed"][:10], each["measured"][:10]]
            for way in heads:
                value = each["ratios"].get(way)
                is_slower = value is not None and value >= SLOWER * before.get(way, value)
                shown = "" if value is None else f"{value:.3g}"
                cells.append(f"**{shown}**" if is_slower else shown)
            before |= each["ratios"]
            lines.append(cells)
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        text += f"\n## {name}\n\n{table}\n"
    return text


def main() -> None:
    """Record the speed of a commit, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("record", "page"))
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout, with its code")
    given = parser.parse_args()
    if given.what == "record" and given.tree.resolve() != ROOT:  # the code is chosen by the path
        path = os.pathsep.join([str(given.tree.resolve()), str(ROOT)])
        code = (
            "import json, runpy, sys; from pathlib import Path;"
            f"made = runpy.run_path({str(Path(__file__))!r});"
            "print(json.dumps(made['record'](Path(sys.argv[1]))))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(given.tree)], cwd=given.tree, check=True,
            env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = done.stdout.splitlines()[-1]
    elif given.what == "record":
        line = json.dumps(record(ROOT))
    if given.what == "record":
        with HISTORY.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line)
    records = [json.loads(each) for each in HISTORY.read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
