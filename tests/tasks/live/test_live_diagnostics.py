"""Diagnostics of a live model: each planted trouble is found, a quiet life has none."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.jobs.diagnostic_codes import ALARM, NOTE, find
from leaseboard.tasks.live.diagnostics import FINDERS
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.store.live_tables import ModelCandidate

NOW = datetime(2026, 3, 1, 3, tzinfo=UTC)
ME, NAIVE = (
    ModelCandidate(number, role, name, None, 9, "2026-01-01", "")
    for number, role, name in (
        (1, "champion", "online-automl"),
        (2, "reference", "last-label"),
    )
)


def record(mine=1.0, naive=2.0, days=20, sd=0.05, seed=0):
    """Return the record of a live model that is better than its baseline."""
    rng = generator("days of a live model", seed)
    found = {}
    for each in range(2, days + 2):
        day = (NOW - timedelta(days=each)).date().isoformat()
        hard, rows = rng.lognormal(0, 0.3), 50
        found[day] = {
            number: LossTotal(rows, {"loss": rows * loss * hard * rng.lognormal(0, sd),
                                     "absolute": 1.0, "square": 1.0})
            for number, loss in ((1, mine), (2, naive))
        }  # fmt: skip
    given = {
        "now": NOW, "champion": ME, "baselines": [NAIVE], "days": found,
        "candidates": {1: ME, 2: NAIVE}, "settings": SimpleNamespace(ignore=[]),
    }  # fmt: skip
    return SimpleNamespace(**given)


def codes(found, severity=ALARM):
    return [each.code for each in found if each.severity == severity]


def test_quiet_lives_have_no_finding():
    assert [find(FINDERS, record(seed=seed)) for seed in range(20)] == [[]] * 20


def test_lb001_a_baseline_that_is_as_good():
    assert codes(find(FINDERS, record(naive=0.8))) == ["LB001"]
    close = find(FINDERS, record(naive=1.01, sd=0.3, seed=3))
    assert "LB001" in codes(close) + codes(close, NOTE)


@pytest.mark.parametrize("sd", [0.1, 0.3])
def test_lb001_a_champion_that_is_a_little_better_rarely_has_an_alarm(sd):
    found = [find(FINDERS, record(naive=1.02, sd=sd, seed=seed)) for seed in range(200)]

    assert sum("LB001" in codes(each) for each in found) <= 10
    notes = [each for each in found if "LB001" in codes(each, NOTE)]
    assert "is not shown to be better than the baseline last-label" in str(notes[0][0])


def test_lb001_says_nothing_of_a_few_days():
    assert find(FINDERS, record(naive=0.8, days=5)) == []


def test_a_code_is_muted():
    assert find(FINDERS, record(naive=0.8), ["LB001"]) == []
