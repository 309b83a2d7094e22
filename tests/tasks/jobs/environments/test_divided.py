"""Tables with time or groups: every environment holds out the same rows, and says why."""

import itertools

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.evaluate import frameworks
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.prepared import group
from tests.environments import environment_of

KINDS = [
    ("apple", {}),
    ("apple", {"order": "kept", "max_rows": 600}),
    ("average", {"space": "fast"}),
    ("average", {"protocol": "cv", "folds": 3, "space": "fast"}),
    ("abc", {"configurations": 2}),
    ("lightgbm-default", {}),
]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write three rows for each of 240 days, of shops, with the days in no order."""
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    days = rng.permutation(np.repeat(np.arange(240), 3))
    frame = pd.DataFrame({
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"),
        "shop": rng.choice(list("abcdefghij"), len(days)),
        "x": days.astype(float),
        "y": np.where(rng.random(len(days)) < 0.5, "yes", "no"),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "shops.parquet")
    return f"file:{tmp_path / 'shops.parquet'}"


def opened(algorithm, data, **environment):
    """Return the job, its kind, its dataset, the parts of its rows, and facts of them."""
    job = Job(algorithm, data, seed=1, environment_seed=2, environment=environment)
    kind, dataset = environments_kind(job), environments.divided(loading.load(data), job)
    options = environments.resolve(kind, job.environment)
    parts = options.divided(dataset, 2)
    return job, kind, dataset, parts, environments.facts_of_parts(options, dataset, 2)


def environments_kind(job):
    return group(job).rpartition("-")[0]


@pytest.mark.parametrize(("algorithm", "given"), KINDS)
def test_the_last_days_are_held_out_and_no_day_is_parted(table, algorithm, given):
    *_, dataset, parts, facts = opened(algorithm, table, **given)
    days = [dataset.features["day"].to_numpy()[rows] for rows in parts if len(rows)]

    for earlier, later in itertools.pairwise(days):
        assert earlier.max() < later.min()
    every = np.concatenate(parts)
    assert len(np.unique(every)) == len(every) == given.get("max_rows", len(dataset.target))
    assert len(parts[-1]) == pytest.approx(0.2 * len(every), abs=3)
    said = "the last rows by 'day' are held out (guessed from column 'day', the only one of dates)"
    assert facts["split"] == said


@pytest.mark.parametrize(("algorithm", "given"), KINDS)
def test_what_is_asked_for_is_done_and_is_another_job(table, algorithm, given):
    asked = {by: opened(algorithm, table, split=by, **given)
             for by in ("random", "time", "time=x", "group=shop")}  # fmt: skip
    guessed = opened(algorithm, table, **given)
    shops = asked["group=shop"][2].features["shop"].astype(str).to_numpy()
    parts = [set(shops[rows]) for rows in asked["group=shop"][3] if len(rows)]

    assert sum(map(len, parts)) == len(set.union(*parts))
    assert asked["group=shop"][4]["split"] == "whole groups by 'shop' are held out (asked for)"
    assert asked["random"][4]["split"] == "random rows are held out (asked for)"
    for by in ("time", "time=x"):
        assert sorted(asked[by][3][-1]) == sorted(guessed[3][-1])
    assert sorted(asked["random"][3][-1]) != sorted(guessed[3][-1])
    assert len({job.key("", "") for job, *_ in (*asked.values(), guessed)}) == 5
    if asked["time"][1] in ("holdout", "samples"):  # these share what they are made of
        assert len({group(job) for job, *_ in (*asked.values(), guessed)}) == 5


@pytest.mark.parametrize("by", ["time", "group=shop"])
@pytest.mark.parametrize(("algorithm", "given"), KINDS[5:])
def test_folds_respect_time_and_groups(table, algorithm, given, by):
    job, kind, dataset, (train, *_), _ = opened(algorithm, table, split=by, **given)
    env = environment_of(kind, dataset, job)
    train = np.asarray(train)
    days, shops = dataset.features["day"].to_numpy(), dataset.features["shop"].astype(str)
    rule = env._fits._rule
    pairs = list(rule.folds(frameworks.FOLDS))
    for trained, tested in ((train[a], train[b]) for a, b in pairs):
        assert len(trained)
        assert len(tested)
        if by == "time":
            assert days[trained].max() < days[tested].min()
        else:
            assert not set(shops.iloc[trained]) & set(shops.iloc[tested])
