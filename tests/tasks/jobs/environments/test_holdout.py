"""Datasets made into hold-out environments: encoding, division, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch.dataset import Dataset, RawTable, finish
from leaseboard.tasks.fetch.dataset import Options as DataOptions
from leaseboard.tasks.jobs.environments import resolve
from leaseboard.tasks.jobs.environments.holdout import Options, as_holdout
from leaseboard.tasks.jobs.job import Job
from tests.environments import environment_of


def dataset(target="y", **columns):
    return finish(RawTable(pd.DataFrame(columns), "t", target), DataOptions(), "file:t")


RAW = {"scale": False, "clip": 0}


def encoded(data, seed=0, **options):
    return as_holdout(data, Options(**{**RAW, **options}), seed)


def table(part):
    return part.rows.toarray() if sparse.issparse(part.rows) else part.rows


def test_numbers_stay_and_nominal_columns_become_indicators():
    data = dataset(a=[1.5, 0, -2, 3], c=pd.Categorical(list("xyxz")), y=[0.5, 1.5, 2.5, 3.5])

    made = encoded(data, order="kept", test_share=0.25)

    assert made.names == ("a", "c=x", "c=y", "c=z")
    rows = np.vstack([table(made.train), table(made.test)])
    assert sorted(map(tuple, rows)) == [
        (-2, 1, 0, 0), (0, 0, 1, 0), (1.5, 1, 0, 0), (3, 0, 0, 1),
    ]  # fmt: skip


def test_text_becomes_counts_of_the_training_words():
    texts = ["a b a", "b c", "c c", "a", "b", "c d e", "a c", "b a", "e", "d"]
    features = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    target = pd.Series(pd.Categorical(list("pqpqpqpqpq")))
    data = Dataset("file:t", "t", features, target, "classification", "")

    made = encoded(data, order="kept")

    counts = [[text.split().count(word) for word in made.names] for text in texts]
    learned = table(made.train).tolist()
    assert [row for row in counts if row in learned] == learned
    assert all(sum(column) for column in zip(*learned, strict=True))


def test_many_classes_are_numbers_or_two_sides():
    data = dataset(a=[1.0, 2, 3, 4], y=pd.Categorical(list("pqrs")))

    every = encoded(data, order="kept")
    assert every.classes == ("p", "q", "r", "s")
    assert sorted([*every.train.labels, *every.test.labels]) == [0, 1, 2, 3]
    with pytest.raises(DataError, match="set positive"):
        encoded(data, positive="p,x")
    made = encoded(data, positive="p,s")
    assert made.classes == ()
    assert sorted([*made.train.labels, *made.test.labels]) == [-1, -1, 1, 1]


def test_what_separates_two_classes_leaves_more_out():
    data = dataset(a=np.arange(30.0), y=pd.Categorical(list("pqr") * 10))
    env = environment_of("holdout", data, Job("apple", "t", 0, 0))

    assert not env.bars(registry.build("apple"))
    for name in ("apple-parallel", "stage-poly"):
        why = env.bars(registry.build(name))
        assert why.startswith("separates two classes, and the data have 3: set positive to")
    assert not environment_of(
        "holdout", data, Job("stage-poly", "t", 0, 0, environment={"positive": "p"})
    ).bars(registry.build("stage-poly"))


def test_numbers_are_clipped_and_standardised_by_the_training_rows():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(400) < 0.1, 8.0, 0.0)
    a = np.where(np.arange(400) == 7, 1e6, rng.normal(50, 2, 400))
    flag = np.arange(400) % 2
    data = dataset(a=a, rare=rare, flag=flag, c=pd.Categorical(list("xy") * 200), y=a + 0.5)
    made = encoded(data, order="kept", scale=True, clip=1.0, seed=3)
    rows = table(made.train)

    assert abs(rows[:, 0].mean()) < 1e-3
    assert rows[:, 0].std() == pytest.approx(1, abs=1e-3)
    assert rows[:, 0].max() < 4
    assert set(rows[:, 1]) == {0, 1}
    assert set(rows[:, 2]) == {0, 1}
    assert set(rows[:, 3]) == {0, 1}
    plain = table(encoded(data, order="kept", seed=3).train)
    assert plain[:, 0].max() == 1e6
    assert set(plain[:, 1]) == {0, 8}


def test_bad_data_are_refused_in_one_line():
    with pytest.raises(DataError, match=r"column 'a' is missing \(NaN\) in 1 rows"):
        encoded(dataset(a=[1.0, np.nan, 2.0], y=[0.5, 1.5, 2.5]))
    with pytest.raises(DataError, match=r"feature 0 of row 1 is inf in float32"):
        encoded(dataset(a=[1.0, 1e39, 2.0], y=[0.5, 1.5, 2.5]))
    with pytest.raises(DataError, match=r"label 1e\+20 of row 2 .* rescale"):
        encoded(dataset(a=[1.0, 2.0, 3.0], y=[0.5, 1.5, 1e20]))
    with pytest.raises(UsageError, match="no column 'z' to drop"):
        encoded(dataset(a=[1.0, 2.0], y=[0.5, 1.5]), drop="z")
    with pytest.raises(UsageError, match="order"):
        resolve("holdout", {"order": "sorted"})
    filled = encoded(dataset(a=[1.0, np.nan, 2.0], y=[0.5, 1.5, 2.5]), missing="zero")
    assert 0 in np.vstack([table(filled.train), table(filled.test)])


def test_the_budget_is_the_passes_over_the_training_rows():
    data = dataset(a=np.arange(1.0, 11), y=np.arange(10) + 0.5)
    job = Job(
        algorithm="linear", data="file:t", seed=0, environment_seed=0, environment={"passes": 3}
    )

    assert environment_of("holdout", data, job).budget == 24
    with pytest.raises(UsageError, match=r"budget 0\.5 must be a whole number"):
        environment_of(
            "holdout",
            data,
            Job(algorithm="linear", data="", seed=0, environment_seed=0, budget=0.5),
        )
