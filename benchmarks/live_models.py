"""The costs of a live model a day, after ten days and after a million rows.

``python -m benchmarks.live_models [--days 400] [--rows 2500] [--delay 1] [--tracking]
[--folder DIR]``
delivers a file a day, with labels that come `delay` days later by id, and is updated each night.
It prints for each tenth of the way, a day: CPU seconds in all, of the model's own predicting and
learning, and of everything else, step by step; the bytes of the state; and the peak of memory.
With ``--mirror DIR`` the rows are those of the flights, else they are drawn. In a ``--folder`` it
goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from leaseboard.algorithms.seeds import generator
from leaseboard.flows import live_update as flow
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.live import cycle, sources, validation
from leaseboard.tasks.live.first_files import write_contract
from leaseboard.tasks.live.settings import read_settings
from leaseboard.tasks.live.update import state_of
from leaseboard.tasks.models.naive import NaiveModel
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.store.live_model import State

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TENTHS = 10
FEATURES = 8

KEEP = """\
name: keeping
data: {{source: "folder:inbox/*.csv", time: when, id: id, target: y, label_delay: {delay}d}}
model: {{algorithm: chacha}}
retrain: {{every: 30d, window: 10000}}
contract: contract.yaml
"""


@dataclass(frozen=True)
class KeptDay:
    """Costs of one update."""

    day: int
    rows: int
    """Of this day's labels that were learned."""
    cpu: float
    """Seconds."""
    model: float
    """Of them, of predicting and learning."""
    steps: dict[str, float]
    """Of the others, by where."""
    bytes: int
    """Of the state."""
    rss: int
    """The most bytes of memory so far."""
    seconds: float
    """By the clock on the wall."""


class Stopwatch:
    """CPU seconds by name, where an inner name's are not an outer one's."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._names = ["rest"]
        self._since = time.process_time()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count what is spent inside under `name`."""
        self._change_day()
        self._names.append(name)
        try:
            yield
        finally:
            self._change_day()
            self._names.pop()

    def _change_day(self) -> None:
        now = time.process_time()
        self.spent[self._names[-1]] += now - self._since
        self._since = now

    def taken(self) -> dict[str, float]:
        """Return what was spent since the last call."""
        self._change_day()
        found, self.spent = dict(self.spent), defaultdict(float)
        return found

    def timing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counted under `name`."""

        def timed(*given: Any, **named: Any) -> Any:
            with self.of(name):
                return function(*given, **named)

        return timed


MONITORED: Sequence[tuple[str, Any, str]] = (
    *(("model", kind, name) for kind in (StreamModel, NaiveModel)
      for name in ("learn", "predict_rows")),
    *(("keep models", kind, "state") for kind in (StreamModel, NaiveModel)),
    ("keep models", StreamModel, "__init__"),
    ("source", sources, "_pending_files"),
    *((name, cycle, name) for name in ("validate", "join_labels", "monitor", "train",
      "evaluate", "publish")),
    ("commit", State, "commit"),
    ("page", flow, "build"),
    ("labels late", validation, "report_late_labels"),
)  # fmt: skip
"""What is counted under which name."""


@contextmanager
def monitored() -> Iterator[Stopwatch]:
    """Count where updates spend their time."""
    stopwatch = Stopwatch()
    patches = [
        patch.object(of, name, stopwatch.timing(word, vars(of)[name]))
        for word, of, name in MONITORED
    ]
    for each in patches:
        each.start()
    try:
        yield stopwatch
    finally:
        for each in patches:
            each.stop()


def drawn_day(number: int, rows: int) -> pd.DataFrame:
    """Return rows of numbers and words, and a target that moves slowly."""
    rng = generator("keeping", number)
    values = rng.normal(size=(rows, FEATURES)).round(4)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(FEATURES)])
    frame["shop"] = rng.choice(["north", "south", "east", "west"], rows)
    slope = 1 + np.sin(number / 60)
    y = slope * values[:, 0] + values[:, 1] + (frame["shop"] == "north") + rng.normal(size=rows)
    return frame.assign(y=y.round(4))


def flights(mirror: Path, rows: int) -> Callable[[int], pd.DataFrame]:
    """Return days of the flights, in their order."""
    dataset = loading.load("mirror:flights_3m", mirrors=(mirror,))
    whole = dataset.features.assign(y=dataset.target)
    return lambda number: whole.iloc[number * rows : (number + 1) * rows].reset_index(drop=True)


def dated(frame: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return the rows with an id and a time."""
    step = timedelta(days=1) / max(len(frame), 1)
    times = [BEGIN + timedelta(days=number) + i * step for i in range(len(frame))]
    frame.insert(0, "id", [f"{number}-{i}" for i in range(len(frame))])
    frame.insert(1, "when", [f"{each:%Y-%m-%dT%H:%M:%S}" for each in times])
    return frame


def deliver(home: Path, day: Callable[[int], pd.DataFrame], number: int, delay: int) -> None:
    """Deliver a day's rows, and the labels of the day before by as many days."""
    frame = dated(day(number), number)
    path = home / "inbox" / f"{number:05}.csv"
    (frame if delay == 0 else frame.assign(y=None)).to_csv(path, index=False)
    if 0 < delay <= number:
        labels = dated(day(number - delay), number - delay)[["id", "y"]]
        labels.to_csv(home / "inbox" / f"{number:05}-labels.csv", index=False)


def live(
    home: Path,
    days: int,
    delay: int,
    day: Callable[[int], pd.DataFrame],
    tracking_uri: str | None = None,
) -> list[KeptDay]:
    """Run the updates that are left; return the costs of each, earlier ones included."""
    log, file = home / "days.jsonl", home / "keeping.yaml"
    if not file.exists():
        (home / "inbox").mkdir(parents=True)
        file.write_text(KEEP.format(delay=delay))
        first = home / "inbox" / "00000.csv"
        dated(day(0), 0).to_csv(first, index=False)
        write_contract(read_settings(file), BEGIN + timedelta(days=1))
        first.unlink()
    keep = read_settings(file)
    lines = log.read_text().splitlines() if log.exists() else []
    found = [KeptDay(**json.loads(line)) for line in lines]
    for number in range(len(found), days):
        deliver(home, day, number, delay)
        with monitored() as stopwatch, redirect_stdout(StringIO()):
            began = time.perf_counter()
            stopwatch.taken()
            now = BEGIN + timedelta(days=number + 1, hours=1)
            turned = flow.run_update(keep, home, now, file=file, local=True,
                                   tracking_uri=tracking_uri)  # fmt: skip
            spent = stopwatch.taken()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found.append(
            KeptDay(
                number,
                turned.counts.get("labels", 0),
                sum(spent.values()),
                spent.pop("model", 0.0),
                spent,
                state_of(keep, home).size(),
                most,
                time.perf_counter() - began,
            )
        )
        with log.open("a") as file_of_days:
            file_of_days.write(json.dumps(asdict(found[-1])) + "\n")
    return found


def reported(found: Sequence[KeptDay]) -> Iterator[str]:
    """Yield a line for each tenth of the days: means of a day."""
    names = sorted({name for each in found for name in each.steps})
    titles = "".join(f"{name:>12}" for name in names)
    yield f"{'days':>11}{'CPU s':>8}{'model':>8}{'other':>8}{'state MB':>10}{'RSS MB':>8}{titles}"
    for part in np.array_split(np.arange(len(found)), min(TENTHS, len(found))):
        those = [found[i] for i in part]
        cpu, model = (float(np.mean([getattr(e, n) for e in those])) for n in ("cpu", "model"))
        steps = "".join(
            f"{np.mean([each.steps.get(name, 0.0) for each in those]):12.3f}" for name in names
        )
        last = those[-1]
        yield (
            f"{part[0]:>5}-{part[-1]:<5}{cpu:8.2f}{model:8.2f}{cpu - model:8.2f}"
            f"{last.bytes / 1e6:10.1f}{last.rss / 1e6:8.0f}{steps}"
        )


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the days and print their costs."""
    parser = argparse.ArgumentParser(description="measure the costs of a live model a day")
    parser.add_argument("--days", type=int, default=400)
    parser.add_argument("--rows", type=int, default=2500, help="a day")
    parser.add_argument("--delay", type=int, default=1, help="days until labels come; 0: at once")
    parser.add_argument("--mirror", type=Path, help="take the flights of this mirror")
    parser.add_argument("--tracking", action="store_true", help="publish to MLflow each night")
    parser.add_argument("--folder", type=Path, help="folder of the live model, to resume")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        home = given.folder or Path(made)
        home.mkdir(parents=True, exist_ok=True)
        day = (
            flights(given.mirror, given.rows)
            if given.mirror
            else lambda number: drawn_day(number, given.rows)
        )
        uri = f"sqlite:///{home / 'mlflow.db'}" if given.tracking else None
        found = live(home, given.days, given.delay, day, uri)
        out(f"{sum(each.rows for each in found):,} labels in {len(found)} days")
        for line in reported(found):
            out(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
