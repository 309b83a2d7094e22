"""Many classes: against simple forecasts, in any blocks, with classes that come late."""

import copy

import numpy as np
import pytest

from algorithms.chacha.one_vs_rest import NUMBERS, REMEMBERED, OneVsRest
from algorithms.chacha.race_file import racing_of
from algorithms.chacha.safe.bayes import regret_bound
from algorithms.events import ChampionChanged, ConfigurationAdmitted, LeaseGranted
from algorithms.online.schema import Schema

D = 3
SCHEMA = Schema(("a", "b", "c"), ((0,), (1,), (2,)), ("x", "y", "z"))


def fresh(**settings):
    racing = racing_of("chacha", {"b": 4} | settings)
    races = OneVsRest(lambda schema: racing.race(schema, 0, "classification"), SCHEMA)
    return races, list(races.open())


def sample(n, k=4, seed=0):
    """Classes by the largest of linear scores, renamed in the order in which they come."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)).astype(np.float32)
    scores = x @ rng.normal(size=(D, k)) + 0.3 * rng.gumbel(size=(n, k))
    return x, in_order(scores.argmax(axis=1))


def in_order(classes):
    names = {}
    return np.array([names.setdefault(one, len(names)) for one in classes.tolist()])


def learned(races, x, classes):
    return races.learn(x, classes, np.ones(len(classes), np.float32))


def log_losses(chances, classes):
    """Of all examples but those of a class that had not come, which no chance is due."""
    given = chances[np.arange(len(classes)), classes]
    return -np.log(given[given > 0])


def test_classes_are_told_apart():
    x, classes = sample(3000)
    races, _ = fresh()
    chances = learned(races, x, classes)
    errors = (chances[1000:].argmax(axis=1) != classes[1000:]).mean()

    assert races.n_classes == 4
    assert chances[500:].sum(axis=1) == pytest.approx(1)
    assert errors < 0.2 < 1 - np.bincount(classes).max() / len(classes)


def test_blocks_of_any_size_give_the_same():
    x, classes = sample(400)
    whole, parts, single = fresh()[0], fresh()[0], fresh()[0]
    expected = learned(whole, x, classes)
    found = [learned(parts, x[c], classes[c]) for c in np.array_split(np.arange(400), 7)]
    for row, number in zip(x, classes.tolist(), strict=True):
        before = single.predict(row)
        n = len(before)
        assert before.tolist() == expected[single.at, :n].tolist()
        assert not expected[single.at, n:].any()
        single.learn_one(row, number, 1.0)

    assert np.array_equal(
        expected, np.concatenate([np.pad(f, ((0, 0), (0, 4 - f.shape[1]))) for f in found])
    )
    told = list(whole.decide())
    for other in (parts, single):
        assert other.predict(x[0]).tolist() == whole.predict(x[0]).tolist()
        assert [*map(repr, other.decide())] == [*map(repr, told)]


def test_what_the_class_before_says_is_heard():
    rng = np.random.default_rng(1)
    classes = in_order(np.cumsum(rng.uniform(size=3000) < 0.03) % 5)
    races, _ = fresh()
    chances = learned(races, rng.normal(size=(3000, D)).astype(np.float32), classes)

    assert log_losses(chances, classes).mean() < 0.25
    assert (chances.argmax(axis=1) != classes).mean() < 0.05


def test_no_simple_forecast_is_better_by_more_than_the_bound():
    rng = np.random.default_rng(2)
    classes = in_order(rng.choice(6, 1500, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]))
    races, _ = fresh()
    chances = learned(races, rng.normal(size=(1500, D)).astype(np.float32), classes)
    begins = int(np.flatnonzero(classes == 5)[0]) + 1
    counts = np.bincount(classes[:begins], minlength=6).astype(float)
    own = frequency = 0.0
    for chance, number in zip(chances[begins:], classes[begins:].tolist(), strict=True):
        own -= np.log(chance[number])
        frequency -= np.log((counts[number] + 0.5) / (counts + 0.5).sum())
        counts[number] += 1

        assert own <= frequency + regret_bound(3) + 5  # of which some was lost before


def test_a_class_that_comes_late_is_rare_at_once():
    x, classes = sample(1001, k=2)
    classes[-1] = 2
    races, _ = fresh()
    learned(races, x, classes)

    assert races.predict(x[0])[2] < 0.2
    assert races.races[1].at == REMEMBERED + 1


def test_a_class_that_comes_late_is_learned():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, D)).astype(np.float32)
    classes = (x[:, 0] > 0).astype(int)
    classes[1500:][x[1500:, 1] > 0.7] = 2
    classes = in_order(classes)
    races, _ = fresh()
    chances = learned(races, x, classes)

    assert not chances[:1500, 2].any()
    assert (chances[2000:].argmax(axis=1) != classes[2000:]).mean() < 0.13


def test_events_of_all_races_have_numbers_and_times_of_their_own():
    x, classes = sample(1000, k=2)
    classes[700::3] = 2
    races, events = fresh()
    learned(races, x, classes)
    events += races.decide()
    admitted = [e.configuration for e in events if isinstance(e, ConfigurationAdmitted)]
    first = [e for e in events if isinstance(e, ChampionChanged) and e.previous is None]

    assert len({*admitted}) == len(admitted)
    assert [e.configuration for e in first] == [0, NUMBERS]
    assert [e.at for e in first] == [0, races.began[1]] == [0, races.at - races.races[1].at]
    assert {e.configuration for e in events if isinstance(e, LeaseGranted)} <= {*admitted}


def test_a_state_goes_on_exactly():
    x, classes = sample(600)
    whole, _ = fresh()
    learned(whole, x[:300], classes[:300])
    other, _ = fresh()
    other = OneVsRest(other.new_race, SCHEMA)
    other.fill(copy.deepcopy(whole.state()))

    expected, found = (learned(one, x[300:], classes[300:]) for one in (whole, other))
    assert expected.tolist() == found.tolist()
    with pytest.raises(ValueError, match="races are needed"):
        OneVsRest(other.new_race, SCHEMA).fill(whole.state() | {"races": []})


def test_more_features_reach_every_race():
    x, classes = sample(300)
    races, _ = fresh()
    learned(races, x, classes)
    wide = Schema(("a", "b", "c", "d"), ((0,), (1,), (2,), (3,)), ("x", "y", "z", "u"))
    before = races.predict(x[0]).tolist()

    assert races.grow(wide)
    assert races.predict(np.append(x[0], np.float32(0))).tolist() == before
    list(races.widen())
    assert {race.schema.n_features for race in races.races} == {4}
    learned(races, np.pad(x, ((0, 0), (0, 1))), classes)
