"""What it costs that labels come later: the loss and the intervals of predictions that wait.

``python -m benchmarks.delays DATA... [--delays 0 100 1000] [--never SHARE] [--rows N]
[--mirror FOLDER]`` prints for each delay, in examples, the mean squared error after the first
1,000 labels over the label's variance, over that without a delay, what it is of `predict_one`, the
coverage of 90 % intervals, and that of the worst 1,000 examples.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaseboard.algorithms.chacha.streaming import ChaChaRegressor
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.tables.features import Example
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream

BEFORE = 1000
"""Labels that are learned before anything is counted, and the length of a window."""


@dataclass(frozen=True, slots=True)
class DelayCost:
    """Costs of predictions whose labels came `delay` predictions later.

    Attributes
    ----------
    delay : int
    loss, of_predict_one : float
        Mean squared error over the label's variance, and that of what `predict_one` said.
    coverage, in_worst_window : float
        Of 90 % intervals; NaN where there are too few examples.
    """

    delay: int
    loss: float
    of_predict_one: float
    coverage: float
    in_worst_window: float


def cost(stream: Stream, delay: int, *, never: float = 0.0, rows: int | None = None) -> DelayCost:
    """Predict every example of a regression, and answer it `delay` predictions later.

    Parameters
    ----------
    stream : Stream
    delay : int
    never : float
        The share of labels that never come.
    rows : int, optional
        Examples at most.
    """
    labels = stream.labels[:rows].astype(np.float64)
    n = len(labels)
    generator = np.random.default_rng(0)
    comes = generator.random(n) >= never
    held, errors = np.zeros(n, dtype=bool), np.zeros((2, n))
    model = ChaChaRegressor(max_pending=n)
    for t, row in enumerate(stream.features[:n].tolist()):
        x: Example = dict(zip(stream.names, row, strict=True))
        errors[:, t] = model.predict_one(x, id=t) - labels[t], model.predict_one(x) - labels[t]
        low, high = model.pending_interval(t)
        held[t] = low <= labels[t] <= high
        if t >= delay and comes[t - delay]:
            model.learn_label(t - delay, labels[t - delay])
    counted = slice(BEFORE + delay, None)
    loss, of_predict_one = (errors[:, counted] ** 2).mean(axis=1) / np.var(labels[counted])
    total = np.concatenate(([0], np.cumsum(held[counted])))
    windows = (total[BEFORE:] - total[:-BEFORE]) / BEFORE
    return DelayCost(
        delay,
        float(loss),
        float(of_predict_one),
        float(held[counted].mean()),
        float(windows.min()) if len(windows) else np.nan,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="references, as for `leaseboard race`")
    parser.add_argument("--delays", type=int, nargs="+", default=(0, 100, 1000))
    parser.add_argument("--never", type=float, default=0.0)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--mirror", type=Path)
    given = parser.parse_args(arguments)
    mirrors = () if given.mirror is None else (given.mirror,)
    print("data  delay  loss  over no delay  of predict_one  coverage  in the worst window")
    for name in given.data:
        stream = as_stream(loading.load(name, mirrors=mirrors), StreamOptions(log_target="code"))
        base = None
        for delay in given.delays:
            found = cost(stream, delay, never=given.never, rows=given.rows)
            base = found.loss if base is None else base
            print(
                f"{name}  {delay}  {found.loss:.4f}  {found.loss / base:.2f}"
                f"  {found.of_predict_one:.4f}  {found.coverage:.3f}  {found.in_worst_window:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
