"""Rates of false alarms of the diagnostics: simulated, on shuffled labels, and on a mirror.

``python -m benchmarks.false_alarms`` simulates runs and live models without a mistake, and prints
how often each code is found. With ``--mirror DIR`` it judges the datasets of a mirror, unchanged
and with shuffled labels.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.events import ConfigurationAdmitted, Event, TrialFinished
from leaseboard.algorithms.seeds import generator
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.fetch.data_facts import facts_of
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.live import diagnostics as live
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.live.record import CREATED, ROLLED_BACK
from leaseboard.tasks.live.shadow import CHAMPION, PREVIOUS
from leaseboard.tasks.models.model import LEVEL
from leaseboard.tasks.score import diagnostics as runs
from leaseboard.tasks.score.frame import to_frame
from leaseboard.tasks.score.selection import Selection

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def result(name: str, score: float, n: int = 0, **fields: Any) -> Result:
    """Return a result on a stream of 4,000 rows."""
    given: dict[str, Any] = {
        "metric": "progressive_mse",
        "rows": 4000.0,
        "status": "ok",
        "digest": "d",
    }
    return Result(f"{name}-{n}", name, name, "d", seed=n, environment_seed=n, repetition=n,
                  score=score, **given | fields)  # fmt: skip


def no_better(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB001 of an algorithm and a baseline whose errors are alike, half of them shared."""
    shared, *own = random.normal(size=(3, 4000)) * np.sqrt(0.5)
    one, two = (float(((shared + each) ** 2).mean()) for each in own)
    rows = [result("algorithm", one), result("baseline", two, baseline=True)]
    yield from runs.unbeaten_baseline(runs.DiagnosedRun(to_frame(rows)))


def smooth_stream(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB002 and LB003 of a smooth stream whose rows have times or numbers, some shuffled."""
    n = 2000
    walk = pd.Series(np.cumsum(random.normal(size=n)))
    state = pd.Series(np.repeat(random.integers(0, 2, n // 100), 100), dtype="category")
    features = pd.DataFrame({
        "when": pd.date_range("2026-01-01", periods=n, freq="h"),
        "id": np.arange(n),
        "day": np.arange(n) // 24,
        "seconds": np.cumsum(random.exponential(size=n)),
    })  # fmt: skip
    mixed = random.permutation(n)
    shuffled = features[["when", "id"]].iloc[mixed]
    for y in (walk, state):
        yield from judged(facts_of(features, y))
        later = y.iloc[mixed].reset_index(drop=True)
        yield from (each for each in judged(facts_of(shuffled, later)) if each.code == "LB002")


def other_dates(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB003 of rows in order of time with dates of birth, hours and days until an event.

    And of labels in runs of ten rows whose dates, 3, 30 or all different, are random.
    """
    n = 1000
    labels, age = random.integers(0, 2, n), random.uniform(20, 80, n)
    for name, time, chance in (
        ("birth", pd.Timestamp("2020-01-01") - pd.to_timedelta(age, "D"), age / 100),
        ("time", np.arange(n) % 24, 0.3 + 0.4 * (np.arange(n) % 24 > 12)),
        ("time", age * 10, age / 100),
    ):
        y = pd.Series(random.random(n) < chance, dtype="category")
        yield from judged(facts_of(pd.DataFrame({name: time}), y))
    runs_of_ten = labels[np.cumsum(random.random(n) < 0.1)]
    for days in (3, 30, n):
        y = pd.Series(runs_of_ten, dtype="category")
        date = random.permutation(n) % days
        yield from judged(facts_of(pd.DataFrame({"date": date}), y))


def no_effect(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB004 of a random search over five hyperparameters without effect, 40 trials."""
    log: list[Event] = [ConfigurationAdmitted(at=0, configuration=0, parameters={"arm": "a"})]
    for n in range(1, 41):
        values = dict(zip("abcde", (2 + random.random(5)).tolist(), strict=True))
        log.append(ConfigurationAdmitted(at=n, configuration=n, parameters=values, parent=0))
        log.append(TrialFinished(at=n, configuration=n, arm=0, reward=float(random.random()),
                                 cpu_seconds=0.0, wall_seconds=0.0))  # fmt: skip
    row = result("policy", 0.9)
    yield from runs.edges(runs.DiagnosedRun(to_frame([row]), logs={row.key: log}))


def some_failures(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB006 of an arm of which each of 20 trials fails with probability .1."""
    log: list[Event] = []
    for n, fails in enumerate(random.random(20) < runs.FAILING):
        log.append(TrialFinished(at=n, configuration=n + 1, arm=0, reward=0.5, cpu_seconds=0.0,
                                 wall_seconds=0.0, status="crash" if fails else "ok"))  # fmt: skip
    row = result("policy", 0.9)
    yield from runs.failures(runs.DiagnosedRun(to_frame([row]), logs={row.key: log}))


def as_delta_says(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB007 or LB009 of twelve runs, each of which fails with probability delta = .05."""
    rows = to_frame([result("abc", 0.9)])
    count, found = int(random.binomial(12, 0.05)), SimpleNamespace(settings={"delta": 0.05})
    run, selections = runs.DiagnosedRun(rows), cast("list[Selection]", [found] * 12)
    yield from runs.spent(run, "LB007", next(rows.itertuples()), selections, count)


def neutral(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB012 of a change that alters only the draws of eight scores.

    And of learners without a seed, which change by rounding, or are as likely better as worse; and
    of other settings.
    """
    draws, change = random.lognormal(0, 0.05, (2, 8)), float(random.lognormal(0, 0.05))
    for name, before, after, settings in (
        ("draws", draws[0], draws[1], {}),
        ("rounding", draws[0], draws[0] * (1 + 1e-9), {}),
        ("seedless", np.ones(8), np.full(8, change), {}),
        ("settings", draws[0], 2 * draws[0], {"K": 5}),
    ):
        old = [result(name, float(each), n, version="v1", settings={"K": 1})
               for n, each in enumerate(before)]  # fmt: skip
        new = [result(name, float(each), n, version="v2", settings={"K": 1} | settings)
               for n, each in enumerate(after)]  # fmt: skip
        yield from runs.worse_version(runs.DiagnosedRun(to_frame(new), earlier=old))


def life(random: np.random.Generator, baseline: float, **fields: Any) -> Any:
    """Return a live model with a loss of 1 and intervals that hold, and its naive baseline."""
    days = {}
    for each in range(2, 26):
        hard, day = random.lognormal(0, 0.3), (NOW - timedelta(days=each)).date().isoformat()
        inside = float(random.binomial(50, LEVEL))
        sums = {"absolute": 1.0, "square": 1.0, "inside": inside, "intervals": 50.0}
        days[day] = {
            number: LossTotal(50, sums | {"loss": 50 * hard * loss * random.lognormal(0, 0.1)})
            for number, loss in ((1, 1.0), (2, baseline))
        }
    naive = SimpleNamespace(number=2, name="naive")
    compare, data = SimpleNamespace(alpha=0.05), SimpleNamespace(label_delay=timedelta(days=1))
    return SimpleNamespace(
        now=NOW, champion=SimpleNamespace(number=1), baselines=[naive], candidates={2: naive},
        days=days, settings=SimpleNamespace(compare=compare, data=data), **fields,
    )  # fmt: skip


def good_life(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB001 and LB007 of a live model that is a tenth better and has intervals that hold."""
    record = life(random, 1.1)
    yield from live.unbeaten_baseline(record)
    yield from live.missed_intervals(record)


def small_lead(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB001 of a live model that is 2 % better, whose daily losses differ by 10 %."""
    yield from live.unbeaten_baseline(life(random, 1.02))


def in_time(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB008 of labels that come within a day, some hours later than `label_delay`."""
    newest = {(NOW - timedelta(days=each)).date().isoformat(): int(random.integers(50))
              for each in range(3)}  # fmt: skip
    yield from live.late_labels(life(random, 1.1, waiting=newest))


def equal_challengers(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB009 of 100 challengers that are no better; those promoted are taken back."""
    promoted = int(random.binomial(100, 0.05))
    kinds = [CREATED] * 101 + [ROLLED_BACK] * promoted
    history = [SimpleNamespace(kind=each) for each in kinds]
    tenures = [SimpleNamespace(role=CHAMPION)] * (1 + promoted)
    yield from live.spent_guarantee(life(random, 1.1, history=history, tenures=tenures))


def equal_versions(random: np.random.Generator) -> Iterator[Diagnostic]:
    """Yield LB012 of a champion that is as good as the one before, after 400 labels."""
    test = SequentialTest(bound=4.0).update_many(*random.exponential(size=(2, 400)).clip(max=4))
    lifecycle, previous = SimpleNamespace(tests={PREVIOUS: test}), SimpleNamespace(number=3)
    roles = {PREVIOUS: previous}
    yield from live.worse_version(life(random, 1.1, lifecycle=lifecycle, in_role=roles.get))


CASES = (
    no_better, smooth_stream, other_dates, no_effect, some_failures, as_delta_says, neutral,
    good_life, small_lead, in_time, equal_challengers, equal_versions,
)  # fmt: skip


def judged(facts: dict[str, Any]) -> Iterator[Diagnostic]:
    """Yield LB002 and LB003 of a stream with these facts."""
    run = runs.DiagnosedRun(to_frame([result("algorithm", 1.0, data_facts=facts)]))
    yield from runs.leaks(run)
    yield from runs.unordered(run)


def of_mirror(folder: Path, shuffles: int) -> None:
    """Print what is found on each dataset, and on how many with shuffled labels."""
    with (folder / "catalogue.csv").open(newline="", encoding="utf-8") as file:
        names = [row["id"] for row in csv.DictReader(file)]
    random, found, cases = generator("shuffled labels"), Counter[str](), 0
    for name in names:
        try:
            data = load(f"mirror:{name}?missing_target=drop", mirrors=[folder])
        except DataError:
            continue
        for each in judged(dict(data.facts)):
            print(f"{name}: {each.code} {each.severity}: {each}")
        if len(data.target) > 100_000:
            continue
        for _ in range(shuffles):
            labels = pd.Series(random.permutation(len(data.target)))
            target = data.target.iloc[labels].reset_index(drop=True)
            found.update(each.code for each in judged(facts_of(data.features, target)))
            cases += 1
    print(f"{len(names)} datasets; of {cases} with shuffled labels: {dict(found) or 'none'}")


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--cases", type=int, default=2000)
    given = parser.parse_args()
    if given.mirror:
        of_mirror(given.mirror, 5)
        return
    for case in CASES:
        random, found = generator("false alarms", case.__name__), Counter[str]()
        for _ in range(given.cases):
            found.update({f"{each.code} {each.severity}" for each in case(random)})
        shares = {what: f"{100 * n / given.cases:.2f} %" for what, n in sorted(found.items())}
        print(f"{case.__name__}: {shares or 'none'}")


if __name__ == "__main__":
    main()
