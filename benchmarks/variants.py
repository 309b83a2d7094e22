"""Whether any gated number depends on the machine: ``python -m benchmarks.variants [SUITE]``.

Runs the gate once unchanged and once in each of five other environments, and compares every score
and every requirement with the first run's, bit for bit. Exits with 1 if any number moved, or with
the exit code of a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

VARIANTS = {
    "unchanged": {},
    "threads": dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "2"
    ),
    "OpenBLAS kernel": {"OPENBLAS_CORETYPE": "Prescott"},
    "numba target": {"NUMBA_CPU_NAME": "generic"},
    "hash seed": {"PYTHONHASHSEED": "12345"},
    "time zone": {"TZ": "Pacific/Kiritimati"},
}

Numbers = dict[str, float | None]


def main() -> int:
    """Run all variants, print a line for each; 0 if nothing moved."""
    parser = argparse.ArgumentParser(description="Do gated numbers depend on the machine?")
    parser.add_argument("suite", nargs="?", default="ci")
    suite = parser.parse_args().suite
    first: Numbers | None = None
    worst = 0
    for name, changes in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            code, numbers = gated(suite, Path(folder), changes)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        first = numbers if first is None else first
        moved = [
            key for key in first.keys() | numbers.keys() if first.get(key) != numbers.get(key)
        ]
        print(
            f"{name}: gate exits with {code}, {len(moved)} of {len(first)} numbers moved,"
            f" {cpu:.0f} CPU s",
            *sorted(moved)[:5],
            sep="\n  ",
            flush=True,
        )
        worst = max(worst, code, bool(moved))
    return worst


def gated(suite: str, folder: Path, changes: dict[str, str]) -> tuple[int, Numbers]:
    """Return the gate's exit code in another environment, and every number that it compared."""
    words = ["gate", suite, "--local", "--run-dir", str(folder / "out"), "--json"]
    words += ["--tracking-uri", f"sqlite:///{folder}/mlflow.db"]
    done = subprocess.run(
        [sys.executable, "-m", "leaseboard", *words],
        env={**os.environ, **changes},
        check=False,
        capture_output=True,
        text=True,
    )
    if not done.stdout:
        raise SystemExit(f"the gate did not end: {done.stderr}")
    requirements = json.loads(done.stdout)["requirements"]
    numbers: Numbers = {each["name"]: each["measured"] for each in requirements}
    for table in folder.glob("out/**/results.parquet"):
        for row in pd.read_parquet(table).itertuples():
            numbers[f"{row.label} on {row.data}, repetition {row.repetition}"] = float(row.score)
    return done.returncode, numbers


if __name__ == "__main__":
    raise SystemExit(main())
