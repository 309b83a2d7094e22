"""Diagnostics of a live model: each planted trouble is found, a quiet life has none."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms.seeds import generator
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.jobs.diagnostic_codes import ALARM, NOTE, find
from leaseboard.tasks.live.diagnostics import FINDERS
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.store.live_tables import ModelCandidate

NOW = datetime(2026, 3, 1, 3, tzinfo=UTC)
ME, NAIVE, BEFORE = (
    ModelCandidate(number, role, name, None, 9, "2026-01-01", "")
    for number, role, name in (
        (1, "champion", "online-automl"),
        (2, "reference", "last-label"),
        (3, "previous", "online-automl"),
    )
)


def record(mine=1.0, naive=2.0, coverage=0.9, days=20, sd=0.05, seed=0, **fields):
    """Return the record of a live model that is better than its baseline and well calibrated."""
    rng = generator("days of a live model", seed)
    found = {}
    for each in range(2, days + 2):
        day = (NOW - timedelta(days=each)).date().isoformat()
        hard, rows = rng.lognormal(0, 0.3), 50
        inside = float(rng.binomial(rows, coverage))
        found[day] = {
            number: LossTotal(rows, {"loss": rows * loss * hard * rng.lognormal(0, sd),
                                     "absolute": 1.0, "square": 1.0, "inside": inside,
                                     "intervals": float(rows)})
            for number, loss in ((1, mine), (2, naive))
        }  # fmt: skip
    given = {
        "now": NOW, "champion": ME, "baselines": [NAIVE], "days": found, "waiting": {},
        "candidates": {1: ME, 2: NAIVE, 3: BEFORE}, "history": [],
        "tenures": [SimpleNamespace(role="champion")],
        "lifecycle": SimpleNamespace(tests={}),
        "in_role": {"champion": ME, "previous": BEFORE}.get,
        "settings": SimpleNamespace(
            ignore=[], compare=SimpleNamespace(alpha=0.05),
            data=SimpleNamespace(label_delay=timedelta(days=1)),
        ),
    }  # fmt: skip
    return SimpleNamespace(**given | fields)


def codes(found, severity=ALARM):
    return [each.code for each in found if each.severity == severity]


def test_quiet_lives_have_no_finding():
    assert [find(FINDERS, record(seed=seed)) for seed in range(20)] == [[]] * 20


def test_lb001_a_baseline_that_is_as_good():
    assert codes(find(FINDERS, record(naive=0.8))) == ["LB001"]
    close = find(FINDERS, record(naive=1.01, sd=0.3, seed=1))
    assert "LB001" in codes(close) + codes(close, NOTE)


@pytest.mark.parametrize("sd", [0.1, 0.3])
def test_lb001_a_champion_that_is_a_little_better_rarely_has_an_alarm(sd):
    found = [find(FINDERS, record(naive=1.02, sd=sd, seed=seed)) for seed in range(200)]

    assert sum("LB001" in codes(each) for each in found) <= 10
    notes = [each for each in found if "LB001" in codes(each, NOTE)]
    assert "is not shown to be better than the baseline last-label" in str(notes[0][0])


def test_lb001_says_nothing_of_a_few_days():
    assert find(FINDERS, record(naive=0.8, days=5)) == []


def test_lb007_intervals_that_are_too_narrow():
    (found,) = find(FINDERS, record(coverage=0.8))

    assert (found.code, found.severity) == ("LB007", ALARM)
    assert "labels were in the champion's intervals, of which the level is 90%" in str(found)


def test_lb007_is_rarely_of_intervals_that_hold():
    found = [find(FINDERS, record(seed=seed)) for seed in range(200)]

    assert sum("LB007" in codes(each) for each in found) <= 2


@pytest.mark.parametrize(("rows", "kind"), [(200, ALARM), (1, NOTE)])
def test_lb008_labels_that_are_overdue(rows, kind):
    day = (NOW - timedelta(days=9)).date().isoformat()

    (found,) = find(FINDERS, record(waiting={day: rows, "2026-03-01": 40}))

    assert (found.code, found.severity) == ("LB008", kind)
    assert str(found).startswith(f"{rows} of {950 + rows:,} rows wait for a label that is overdue")


def life(created, promoted, back):
    kinds = ["created"] * (1 + created) + ["rolled back"] * back
    return record(history=[SimpleNamespace(kind=kind) for kind in kinds],
                  tenures=[SimpleNamespace(role="champion")] * (1 + promoted))  # fmt: skip


def test_lb009_promotions_that_chance_explains_or_that_went_back():
    assert find(FINDERS, life(2, 1, 0)) == []
    assert codes(find(FINDERS, life(20, 1, 0)), NOTE) == ["LB009"]
    assert codes(find(FINDERS, life(6, 4, 3))) == ["LB009"]


def test_lb009_alpha_bounds_the_comparisons_and_not_the_share_of_promotions():
    rng = generator("a hundred challengers that are no better")
    promoted = rng.binomial(100, 0.05, 400)
    alarms = [codes(find(FINDERS, life(100, n, n))) for n in promoted]

    assert sum(each == ["LB009"] for each in alarms) <= 10  # .01: more has a probability of .003
    assert codes(find(FINDERS, life(100, 14, 14))) == ["LB009"]


def test_lb012_the_previous_champion_is_better():
    rng = np.random.default_rng(0)
    worse, better = 1 + rng.random(400), rng.random(400)
    test = SequentialTest(bound=4.0).update_many(worse, better)

    assert codes(find(FINDERS, record(lifecycle=SimpleNamespace(tests={"previous": test})))) == [
        "LB012"
    ]
    test = SequentialTest(bound=4.0).update_many(better, worse)
    assert find(FINDERS, record(lifecycle=SimpleNamespace(tests={"previous": test}))) == []


def test_a_code_is_muted():
    assert find(FINDERS, record(naive=0.8), ["LB001"]) == []


@pytest.fixture
def hours(mirror):
    """Return thirty days of hourly counts of rented bikes, by day."""
    from leaseboard.tasks.fetch.loading import load

    data = load("mirror:42713?first_rows=720", mirrors=[mirror])
    counts = data.target.to_numpy()
    days = (data.features["hour"].diff() < 0).cumsum().to_numpy()
    return [counts[days == day] for day in range(28)]


def of_hours(hours, offset, width, **fields):
    """Return the record of a model that adds `offset` to the last count, with intervals."""
    found = {}
    for each, counts in enumerate(hours[::-1]):
        day = (NOW - timedelta(days=each + 2)).date().isoformat()
        losses, naive = (counts[1:] - counts[:-1] - offset) ** 2, (counts[1:] - 10.0) ** 2
        inside = float((np.abs(counts[1:] - counts[:-1]) <= width).sum())
        rows, sums = len(losses), {"absolute": 1.0, "square": 1.0}
        found[day] = {
            1: LossTotal(rows, sums | {"loss": float(losses.sum()), "inside": inside,
                                       "intervals": float(rows)}),
            2: LossTotal(rows, sums | {"loss": float(naive.sum())}),
        }  # fmt: skip
    made = record(**fields)
    made.days = found
    return made


@pytest.mark.mirror
def test_planted_troubles_on_real_days_are_found(hours):
    day = (NOW - timedelta(days=9)).date().isoformat()
    rng = np.random.default_rng(0)
    change = np.concatenate([counts[1:] - counts[:-1] for counts in hours]).astype(float) ** 2
    test = SequentialTest().update_many(change + 900 * rng.random(len(change)), change)

    assert find(FINDERS, of_hours(hours, offset=0, width=90)) == []
    assert codes(find(FINDERS, of_hours(hours, offset=90, width=90))) == ["LB001"]
    assert codes(find(FINDERS, of_hours(hours, offset=0, width=20))) == ["LB007"]
    late = of_hours(hours, offset=0, width=90, waiting={day: 200})
    assert codes(find(FINDERS, late)) == ["LB008"]
    worse = of_hours(hours, 0, 90, lifecycle=SimpleNamespace(tests={"previous": test}))
    assert codes(find(FINDERS, worse)) == ["LB012"]
