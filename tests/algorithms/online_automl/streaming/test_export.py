"""A champion that sees raw features is handed to Vowpal Wabbit; any other is named."""

import numpy as np
import pytest
from vowpalwabbit import Workspace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor


def trained(n, labels=None, **settings):
    """Return a model of four features that has learned `n` examples far from 0, and these."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    y = 1000 + 50 * (x[:, 0] + 2 * x[:, 1] * x[:, 2]) if labels is None else labels
    model = OnlineAutoMLRegressor(b=12, **settings)
    model.learn_many(x, np.asarray(y, dtype=np.float32))
    return model, x


def said(race, slot, row):
    """Return what the model in `slot` predicts, in the labels' own unit."""
    center, spread = race.ensemble.unit
    wide = race.ensemble.expansion.look(row).wide[0]
    return center + spread * race.models.learner(slot).predict(wide)


def in_vw(path, rows):
    workspace = Workspace(arg_list=["-t", "--quiet", "-i", str(path)])
    lines = (" ".join(f"|{'abcd'[i]} {i}:{v}" for i, v in enumerate(row)) for row in rows)
    return [workspace.predict(line) for line in lines]


def test_every_model_of_raw_features_predicts_the_same_in_vw(tmp_path):
    model, x = trained(700)
    race = model._race
    plain = [
        slot
        for slot in race.live.tolist()
        if set(race.configurations[race.holders[slot]].namespaces) <= set(race.representations.raw)
    ]
    crossed = [race.configurations[race.holders[slot]].interactions for slot in plain]
    rows = np.concatenate((x[:20], 30 * x[:5]))  # some beyond the range of labels

    assert any(crossed)
    for slot in plain:
        race.champion = int(race.holders[slot])
        model.export(tmp_path / "champion.vw")
        expected = [said(race, slot, row) for row in rows]
        np.testing.assert_allclose(in_vw(tmp_path / "champion.vw", rows), expected, rtol=1e-5)


@pytest.mark.parametrize("labels", [np.full(5, 7.0), np.zeros(5), np.array([7.0])], ids=str)
def test_of_equal_labels_their_value_is_exported(labels, tmp_path):
    model, x = trained(len(labels), labels)
    model.export(tmp_path / "champion.vw")

    assert in_vw(tmp_path / "champion.vw", x) == labels.tolist()


def test_a_champion_that_sees_more_is_named_with_the_fix(tmp_path):
    model, _ = trained(100)
    race = model._race
    race.champion = next(
        int(number)
        for number in race.holders[race.live]
        if race.representations.last in race.configurations[number].namespaces
    )
    with pytest.raises(
        UsageError, match=r'sees .*last.*: build with tune="interactions\+'
    ) as reported:
        model.export(tmp_path / "champion.vw")

    assert "\n" not in str(reported.value)
    assert not list(tmp_path.iterdir())


def test_of_what_a_champion_sees_only_what_the_race_computes_is_named(tmp_path):
    model, _ = trained(100)
    race = model._race
    known, last = race.representations, race.representations.last
    race.champion = next(
        int(number)
        for number in race.holders[race.live]
        if {*known.raw, last} == {*race.configurations[number].namespaces}
    )
    with pytest.raises(UsageError, match=r"no model alone can \(last 3 labels\): build"):
        model.export(tmp_path / "champion.vw")


def test_the_fix_exports(tmp_path):
    model, x = trained(700, tune="interactions+learning-rate")
    command = model.export(tmp_path / "champion.vw")
    learner = model._race.champion_learner()

    assert "--interactions" in command
    np.testing.assert_allclose(
        in_vw(tmp_path / "champion.vw", x[:20]), learner.predict_many(x[:20]), rtol=1e-6
    )
