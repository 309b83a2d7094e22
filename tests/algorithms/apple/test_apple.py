"""apple as a Leaseboard algorithm: its events, its rates, its fall-back, and bad input."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms.apple.apple import Apple, Polynomial
from leaseboard.algorithms.apple.rates import RATES
from leaseboard.algorithms.apple.rows import as_rows
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.errors import DataError, DivergedError
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    Eliminated,
    FeaturesExpanded,
    LeaseGranted,
    of,
)
from tests.algorithms.parity import parity
from tests.algorithms.played import audited


def env(x, y, test=None, **options):
    train, held_out = Part(x, y), Part(*(test or (x, y)))
    names = tuple(f"x{i + 1}" for i in range(x.shape[1]))
    return HoldoutEnvironment(Holdout(train, held_out, names), **options)


run = partial(audited, "apple")


def test_expansions_are_reported_by_name():
    events = run(Apple(alpha=0.5, learning_rate=0.5), parity(6000, variables=8, order=2))

    reported = of(events, FeaturesExpanded)
    assert [event.at for event in reported] == [1000, 2000, 3000, 4000, 5000]
    assert [event.epoch for event in reported] == [1, 2, 3, 4, 5]
    assert all(len(event.parents) == 3 for event in reported)  # floor(sqrt(9))
    assert {"x1", "x2"} & set(reported[0].parents)
    assert any("*" in name for event in reported[1:] for name in event.parents)
    assert [event.size for event in reported] == sorted(event.size for event in reported)
    assert reported[-1].degree <= 6
    assert events[-1].score == 0


def test_fallback_finds_parity_where_the_weights_do_not():
    settings = {"alpha": 0.29, "epochs": 40, "learning_rate": 0.5}  # two parents an epoch

    plain, safe = (
        [run(Apple(fallback=f, **settings), parity(20_000, seed=s))[-1].score for s in range(3)]
        for f in (False, True)
    )

    assert min(plain) > 0.4
    assert safe == [0, 0, 0]


def test_later_passes_learn_with_frozen_parents():
    events = run(Apple(), parity(3000, order=2, passes=3))

    assert max(event.at for event in of(events, FeaturesExpanded)) == 2500
    assert events[-1].at == 9000


class Fragile(Polynomial):
    def chunks(self, learners, examples, n_first_pass):
        if learners[0].rate == 0.25:
            raise DivergedError("as the test wants it")
        yield from super().chunks(learners, examples, n_first_pass)


def test_a_rate_that_diverges_fails_alone():
    events = run(Fragile(rates=(0.25, 0.5)), parity(100))

    (failed,) = of(events, ConfigurationFailed)
    assert (failed.configuration, failed.reason) == (0, "as the test wants it")
    assert of(events, ChampionChanged)[-1].configuration == 1
    with pytest.raises(DivergedError, match="as the test wants it"):
        run(Fragile(learning_rate=0.25), parity(100))


@pytest.mark.parametrize("final", [1500, 10_000])
@pytest.mark.parametrize(("prefix", "passes"), [(10_000, 1), (700, 2)])
def test_the_first_examples_choose_the_rate(monkeypatch, prefix, passes, final):
    monkeypatch.setattr("leaseboard.algorithms.apple.rates.PREFIX", prefix)
    monkeypatch.setattr("leaseboard.algorithms.apple.rates.FINAL", max(final, prefix))
    one = parity(2000, order=2, passes=passes)
    events, at = run(Apple(), one), min(prefix, 2000)
    finished = events[-1]

    assert finished.at == 2000 * passes
    out = [e.at for e in of(events, Eliminated)]
    assert out == ([at] * (len(RATES) - 2) + [min(final, 2000)] if prefix == 700 else [at] * 4)
    tried = {e.parameters["learning_rate"] for e in of(events, ConfigurationAdmitted)}
    assert tried == set(RATES)
    again = [e for e in of(events, LeaseGranted) if e.at]
    assert [(e.at, e.fresh) for e in again] == (
        ([(700, True)] * 2 if prefix == 700 else [])
        + ([(1500, True)] if (prefix, final) == (700, 1500) else [])
        + [(2000, False)] * (passes - 1)
    )
    if final > 2000:
        own = {e.epoch for e in of(events, FeaturesExpanded) if e.at > prefix}
        assert own == ({3, 4, 5} if prefix == 700 else set())


@pytest.mark.parametrize("kernel", ["plan", "hashed"])
@pytest.mark.parametrize("unit", [1e30, 1e-30])
def test_powers_that_leave_float32_are_learned_all_the_same(kernel, unit):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 3))
    y = (x[:, 0] * x[:, 1] * x[:, 2]).astype(np.float32)
    huge, usual = ((x * scale).astype(np.float32) for scale in (unit, 1))

    form = np.asarray if kernel == "plan" else sparse.csr_array
    scores = [run(Apple(), env(form(rows), y))[-1].score for rows in (huge, usual)]

    assert scores[0] == pytest.approx(scores[1], rel=1e-3)


def test_rows_are_checked_where_they_enter():
    with pytest.raises(DataError, match="feature 1 of row 2 is nan"):
        as_rows(np.array([[1, 2], [3, 4], [5, np.nan]]))
    thin = sparse.lil_array((4, 9))
    thin[3, 7] = np.inf
    thin[0, 0] = 1
    with pytest.raises(DataError, match="feature 7 of row 3 is inf"):
        as_rows(thin)
    with pytest.raises(DataError, match="feature 0 of row 0 is inf in float32"):
        as_rows(np.array([[1e39]]))
