"""ChaCha's default: never far above vanilla, often far below, and a scheduler one can trust."""

import dataclasses
import itertools

import numpy as np
import pytest

from algorithms import registry
from algorithms.audit import Auditor
from algorithms.base import play
from algorithms.benches.stream import Namespace, Stream, StreamBench
from algorithms.chacha.chacha import ChaCha
from algorithms.errors import UsageError
from algorithms.events import ChampionChanged, Eliminated, LeaseGranted, Paused
from algorithms.log_format import to_json
from algorithms.online.configuration import VWConfiguration
from algorithms.online.schema import stream_schema


def stream_of(features, labels, task="regression"):
    features = np.ascontiguousarray(features, dtype=np.float32)
    names = "abcdefghij"[: features.shape[1]]
    spaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    labels = np.asarray(labels, dtype=np.float32)
    return Stream(features, labels, spaces, tuple(names), task)


def planes(n, seed=0):
    """2dplanes: interactions of its first feature with all others explain it."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, (n, 10)).astype(float)
    x[:, 0] = rng.choice([-1, 1], n)
    up = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    down = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    return x, np.where(x[:, 0] > 0, up, down) + rng.normal(0, 1, n)


def noise(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.normal(3, 1, n)


def abrupt(n):
    x, y = planes(n)
    y[n // 2 :] = 50 - 4 * y[n // 2 :]
    return x, y


def outliers(n):
    x, y = noise(n)
    y[[n // 4, n // 2, -1]] = [1e6, -1e7, 1e5]
    return x, y


def constant_then_not(n):
    x, y = noise(n)
    y[: 2 * n // 3] = 3.0
    return x, y


def constant(n):
    return noise(n)[0], np.zeros(n)


def tiny_labels(n):
    x, y = planes(n)
    return x, 1e-6 * y


def trend(n):
    x, y = noise(n)
    return x, y + np.linspace(0, 100, n)


def trap(n):
    """The challengers' gains on the first half turn into losses on the second."""
    x, y = planes(n)
    rest = n - n // 2
    y[n // 2 :] = -y[n // 2 :] + np.random.default_rng(1).normal(0, 8, rest)
    return x, y


HARD = (planes, noise, abrupt, outliers, constant_then_not, constant, tiny_labels, trend, trap)


def predictions_of(algorithm, stream, seed=0):
    bench = StreamBench(stream)
    auditor = Auditor()
    log = []
    for event in play("x", algorithm, bench, seed):
        auditor(event)
        log.append(event)
    auditor.close()
    return bench.predictions, log


def learn(race, stream):
    """Until a decision is due."""
    examples, labels = stream.features[race.at :], stream.labels[race.at :]
    race.learn(examples, labels, np.ones_like(labels), np.empty_like(labels))


def cumulative(predictions, stream):
    return np.cumsum((predictions.astype(np.float64) - stream.labels) ** 2)


@pytest.mark.parametrize("rows", [1, 30, 200, 1500])
@pytest.mark.parametrize("make", HARD, ids=lambda make: make.__name__)
def test_at_no_time_more_than_one_percent_above_vanilla(make, rows):
    stream = stream_of(*make(rows))
    vanilla, _ = predictions_of(registry.build("vanilla"), stream)
    forecasts, _ = predictions_of(registry.build("chacha"), stream)

    bound = 1.01 * cumulative(vanilla, stream)
    assert (cumulative(forecasts, stream) <= bound * (1 + 1e-9)).all()


def test_far_below_vanilla_where_interactions_matter():
    stream = stream_of(*planes(6000))
    vanilla, _ = predictions_of(registry.build("vanilla"), stream)
    forecasts, _ = predictions_of(ChaCha(), stream)

    assert cumulative(forecasts, stream)[-1] < 0.5 * cumulative(vanilla, stream)[-1]


def test_one_model_is_vanilla():
    stream = stream_of(*planes(500))
    vanilla, _ = predictions_of(registry.build("vanilla"), stream)
    forecasts, _ = predictions_of(ChaCha(b=1), stream)

    assert forecasts.tolist() == vanilla.tolist()


def test_no_tolerance_is_vanilla():
    stream = stream_of(*planes(500))
    vanilla, _ = predictions_of(registry.build("vanilla"), stream)
    forecasts, _ = predictions_of(ChaCha(tolerance=0, b=5), stream)

    assert forecasts.tolist() == vanilla.tolist()


def test_champions_add_interactions_and_never_lose_them():
    _, log = predictions_of(ChaCha(), stream_of(*planes(6000)))
    parameters = {e.configuration: e.parameters for e in log if hasattr(e, "parameters")}
    champions = [e.configuration for e in log if isinstance(e, ChampionChanged)]
    interactions = [set(parameters[champion]["interactions"]) for champion in champions]

    assert all(old <= new for old, new in itertools.pairwise(interactions))
    assert len(interactions[-1]) >= 2


def test_challengers_of_a_champion_branch_from_it():
    _, log = predictions_of(ChaCha(), stream_of(*planes(3000)))
    champion = None
    for event in log:
        if isinstance(event, ChampionChanged):
            champion = event.configuration
        if isinstance(event, LeaseGranted) and event.fresh:
            assert event.source == (champion if event.at else None)


def test_the_initial_configuration_is_always_live():
    _, log = predictions_of(ChaCha(b=4), stream_of(*abrupt(3000)))
    left = {e.configuration for e in log if isinstance(e, (Paused, Eliminated))}

    assert sum(isinstance(e, ChampionChanged) for e in log) > 1
    assert left
    assert 0 not in left


def test_waiting_challengers_get_their_turn():
    _, log = predictions_of(ChaCha(b=6), stream_of(*noise(5000)))
    leased = {e.configuration for e in log if isinstance(e, LeaseGranted)}
    admitted = {e.configuration for e in log if hasattr(e, "parameters")}

    assert leased == admitted


@pytest.mark.parametrize("max_terms", [60, 200])
def test_live_models_keep_to_the_terms(max_terms):
    algorithm = ChaCha(max_terms=max_terms)
    stream = stream_of(*planes(1000))
    race = algorithm.race(stream_schema(stream), 0, "regression")
    for _ in race.open():
        pass
    while race.at < 1000:
        learn(race, stream)
        for _ in race.decide():
            pass
        terms = [race.models.pool.n_terms[slot] for slot in race.live]

        assert sum(terms) <= max_terms
        assert len(terms) > 1


def test_block_sizes_do_not_matter_and_predict_tells_what_learn_records():
    stream = stream_of(*planes(700))
    whole, _ = predictions_of(ChaCha(b=8), stream, seed=3)
    race = ChaCha(b=8).race(stream_schema(stream), 3, "regression")
    for _ in race.open():
        pass
    forecasts = []
    for example, label in zip(stream.features, stream.labels, strict=True):
        forecasts.append(race.predict(example))
        if race.learn_one(example, label, 1.0):
            for _ in race.decide():
                pass

    assert forecasts == whole.tolist()


def test_a_candidate_that_drops_an_interaction_starts_from_nothing():
    crossed, plain = VWConfiguration((("a", "e"),), 1.0), VWConfiguration((), 8.0)

    def oracle(champion, namespaces, random):
        return [plain] if champion == crossed else [crossed]

    stream = stream_of(*planes(1500))
    race = ChaCha(b=3).race(stream_schema(stream), 0, "regression", oracle)
    events = list(race.open())
    while race.at < 1500:
        learn(race, stream)
        events += race.decide()
    number = race.configurations.index(plain)
    (granted,) = [
        e for e in events if isinstance(e, LeaseGranted) and e.fresh and e.configuration == number
    ]

    assert race.configurations[race.champion] == crossed
    assert granted.at > 0
    assert granted.source is None


def test_both_engines_agree_over_champions():
    stream = stream_of(*planes(700))
    algorithm = ChaCha(b=4, round_length=32)
    kernel, kernel_log = predictions_of(algorithm, stream)
    vw, vw_log = predictions_of(dataclasses.replace(algorithm, engine="vw"), stream)

    assert sum(isinstance(event, ChampionChanged) for event in kernel_log) > 1
    assert vw.tolist() == kernel.tolist()
    assert [to_json(e) for e in vw_log[1:]] == [to_json(e) for e in kernel_log[1:]]


def test_classes_make_at_most_one_percent_more_errors():
    x, y = planes(400)
    stream = stream_of(x, np.where(y > 0, 1.0, -1.0), "classification")
    vanilla, _ = predictions_of(registry.build("vanilla"), stream)
    forecasts, _ = predictions_of(ChaCha(b=4), stream)
    errors = np.cumsum((forecasts > 0) != (stream.labels > 0))

    assert (errors <= 1.01 * np.cumsum((vanilla > 0) != (stream.labels > 0))).all()


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"min_lease": 100}, "^unknown setting of chacha 'min_lease': "),
        ({"scheduling": "aggressive"}, "'scheduling': take the algorithm 'chacha-aggressive'$"),
        ({"tolerance": -1}, "tolerance"),
        ({"delta": 1}, "delta"),
    ],
)
def test_settings_that_do_not_belong_are_refused(settings, rule):
    with pytest.raises(UsageError, match=rule):
        registry.build("chacha", settings)
