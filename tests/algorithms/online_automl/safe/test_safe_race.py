"""The default: never above its guarantee, often far below, and a scheduler one can trust."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.events import ChampionChanged, Eliminated, LeaseGranted, Paused, to_json
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from leaseboard.algorithms.online_automl.safe.bayes import N_EXPERTS, regret_bound
from leaseboard.algorithms.online_automl.safe.mixture import ALLOWED, FIRST, LOST
from tests.algorithms.online_automl.safe.hard_streams import (
    HARD,
    abrupt,
    noise,
    outliers,
    planes,
    stream_of,
    trap,
)


def predictions_of(algorithm, stream, seed=0):
    environment = StreamEnvironment(stream)
    auditor = Auditor()
    log = []
    for event in play("x", algorithm, environment, seed):
        auditor(event)
        log.append(event)
    auditor.close()
    return environment.predictions, log


def cumulative(predictions, labels):
    return np.cumsum((predictions.astype(np.float64) - labels) ** 2)


NUMBER, JUMP = st.sampled_from([0.0, 1.0, -1.0, 1e-6]), st.sampled_from([3.0, 1e6, -1e6])
AGAINST = st.sampled_from([1.0, -1.0, 1e-3, -100.0, 1e6])
MOVES = st.one_of(
    st.tuples(st.just(0.0), NUMBER | JUMP, st.just(1)),
    st.tuples(st.just(0.0), NUMBER | JUMP, st.just(10)),
    st.tuples(st.just(1.0), AGAINST, st.just(1)),
)
"""How much of the prediction a label is, what is added, and how often."""


def guaranteed(ensemble):
    """Return what was lost on all examples but the first, and what the theorems allow."""
    known, last = ensemble.known, ensemble.pool.known
    today = (
        known.scores[ensemble.baselines].min() - known.totals[FIRST] + known.aggregated[ALLOWED]
    )
    best = min(today, last.scores.min() - last.totals[FIRST])
    return last.totals[LOST], best + last.aggregated[ALLOWED]


def assert_guarantee_against(choices, algorithm, x):
    """Let each choice make a label of the prediction."""
    race, lost = algorithm.race(stream_of(x, x[:, 0]).schema, 0, "regression"), 0.0
    for _ in race.open():
        pass
    row = np.empty(x.shape[1], np.float32)
    one = race.bind(row)
    for example, choose in zip(x, choices, strict=True):
        row[:] = example
        prediction = one.predict()
        label = np.float32(choose(prediction))
        if one.learn(float(label), 1.0):
            for _ in race.decide():
                pass
        lost += (prediction - float(label)) ** 2 if race.at > 1 else 0.0  # first all predict 0

        found, allowed = guaranteed(race.ensemble)
        assert found == pytest.approx(lost)
        assert lost <= allowed * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("own", [{}, {"b": 1}], ids=str)
@pytest.mark.parametrize("make", HARD, ids=lambda make: make.__name__)
def test_at_no_time_more_is_lost_than_guaranteed(make, own):
    x, y = make(1500)
    choices = [lambda _, label=label: label for label in y]
    assert_guarantee_against(choices, OnlineAutoML(**own), x.astype(np.float32))


@settings(max_examples=40)
@given(st.lists(MOVES, min_size=1, max_size=60))
def test_no_adversary_who_sees_the_prediction_breaks_the_guarantee(moves):
    choices = [
        lambda p, share=share, more=more: share * p + more
        for share, more, times in moves
        for _ in range(times)
    ]
    x = np.random.default_rng(0).normal(size=(len(choices), 2)).astype(np.float32)
    assert_guarantee_against(choices, OnlineAutoML(b=3, round_length=8), x)


@pytest.mark.parametrize(
    ("make", "target", "features"),
    [(planes, -20, 9), (abrupt, -20, 9), (outliers, -20, 9), (abrupt, 5, -7), (outliers, 30, 0)],
)
def test_units_of_powers_of_two_change_not_one_bit(make, target, features):
    x, y = make(1500)
    x, y = np.float32(x), np.float32(y)
    once, log = predictions_of(OnlineAutoML(b=12), stream_of(x, y))
    scaled = stream_of(x * 2.0**features, y * 2.0**target)
    other, other_log = predictions_of(OnlineAutoML(b=12), scaled)

    assert other.tolist() == (once * np.float32(2.0**target)).tolist()
    assert decisions(other_log) == decisions(log)


@pytest.mark.parametrize(
    ("make", "factor", "shift"),
    [(planes, 3, -20_000), (noise, 3, -20_000), (trap, 3, -20_000), (planes, 1, 1000),
     (trap, -1, 0)],
)  # fmt: skip
def test_the_unit_and_the_zero_of_the_target_change_nothing_but_rounding(make, factor, shift):
    x, y = make(1500)
    y = np.round(8 * y) / 8  # that a label can be shifted without rounding
    once, log = predictions_of(OnlineAutoML(b=12), stream_of(x, y))
    moved, other_log = predictions_of(OnlineAutoML(b=12), stream_of(x, factor * y + shift))
    back = (moved[1:].astype(np.float64) - shift) / factor  # the first is 0 in every unit

    assert np.abs(back - once[1:]).max() < 1e-3 * y.std()
    assert cumulative(back, y[1:])[-1] == pytest.approx(cumulative(once[1:], y[1:])[-1], rel=1e-4)
    assert decisions(other_log) == decisions(log)


def decisions(log):
    """Return who was admitted, leased, paused and made champion, and when."""
    kinds = (ChampionChanged, LeaseGranted, Paused, Eliminated)
    return [to_json(event) for event in log if isinstance(event, kinds)]


def test_champions_add_interactions():
    algorithm = OnlineAutoML()
    _, log = predictions_of(algorithm, stream_of(*planes(6000)))
    parameters = {e.configuration: e.parameters for e in log if hasattr(e, "parameters")}
    champions = [e.configuration for e in log if isinstance(e, ChampionChanged)]
    interactions = [parameters[champion]["interactions"] for champion in champions]

    assert interactions[:2] == [[], ["a × b"]]  # its largest term
    assert interactions[-1] == ["all pairs"]


def test_the_initial_configuration_is_always_live():
    _, log = predictions_of(OnlineAutoML(b=4), stream_of(*abrupt(3000)))
    left = {e.configuration for e in log if isinstance(e, (Paused, Eliminated))}

    assert sum(isinstance(e, ChampionChanged) for e in log) > 1
    assert left
    assert 0 not in left


def classes_of(make, n):
    x, y = make(n)
    return stream_of(x, np.where(y > np.median(y), 1.0, -1.0), "classification")


def test_classes_lose_few_nats_more_than_what_people_try_first():
    stream = classes_of(planes, 1500)
    environment = StreamEnvironment(stream)
    for _ in play("x", OnlineAutoML(b=4), environment, seed=0):
        pass
    metrics, margins = environment.score().metrics, environment.predictions
    ridge, _ = predictions_of(registry.build("online-ridge"), stream)
    own, others = (np.cumsum(np.logaddexp(0, -m * stream.labels)) for m in (margins, ridge))

    assert 0 < metrics["nats_over_best"] <= regret_bound(N_EXPERTS)
    assert (own <= others + regret_bound(N_EXPERTS) + 0.5).all()  # what float32 and clips add
    assert 0 < metrics["share_of_bound"] <= 1
