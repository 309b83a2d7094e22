"""Random walks with a date: the R² that a race prints, and that of its model on the next 300 days.

``python -m benchmarks.random_walks COLUMNS SPLIT``: `COLUMNS` is noise, signal or yesterday,
`SPLIT` time or random. Seconds: 50.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.winner import fit

DAYS, NEXT, SEEDS, TRIALS = 1200, 300, 20, 20


def table(columns: str, seed: int) -> pd.DataFrame:
    """Return a walk of `DAYS` and `NEXT` days: its date, another column, and its value.

    The other column is noise; or one that explains three fifths of the variance; or the value of
    the day before.
    """
    rng = np.random.default_rng(seed)
    n_days = DAYS + NEXT
    walk, x = np.cumsum(rng.normal(size=n_days)), rng.normal(size=n_days)
    y = walk + np.sqrt(DAYS) / 2 * x if columns == "signal" else walk
    if columns == "yesterday":
        x = np.concatenate([[0.0], walk[:-1]])
    return pd.DataFrame({"date": pd.date_range("2019-01-01", periods=n_days), "x": x, "y": y})


def measured(columns: str, split: str, seed: int) -> tuple[float, float]:
    """Return the R² on test rows, and that of the registered model on the next days."""
    rows = table(columns, seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "walk.csv"
        rows.iloc[:DAYS].to_csv(file, index=False)
        job = Job("rising-bandits-cost", f"file:{file}?target=y", seed, seed, budget=TRIALS,
                  environment={"split": split})  # fmt: skip
        result = run_job(job, Path(folder))
        model = fit(job, result).model
    later = rows.iloc[DAYS:]
    errors = model.predict(later.drop(columns="y")) - later["y"].to_numpy()
    return result.metrics["r2"], float(1 - np.mean(errors**2) / np.var(later["y"]))


def main(columns: str, split: str) -> None:
    """Print the medians over seeds."""
    warnings.simplefilter("ignore")
    found = np.array([measured(columns, split, seed) for seed in range(SEEDS)])
    printed, reached = np.median(found, axis=0)
    gap = np.median(found[:, 0] - found[:, 1])
    print(f"{columns}, {split}: printed {printed:.3f}, next {reached:.3f}, gap {gap:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
