import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.evaluate.trials.plans import cross_validation, dealt, holdout
from leaseboard.tasks.fetch.dataset import RawTable, finish
from leaseboard.tasks.fetch.references import parse


def dataset(n_rows=200, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), **columns})
    frame["y"] = np.where(frame["a"] > 0.5, "yes", "no")
    return finish(RawTable(frame, "toy"), parse("file:toy.csv"), "file:toy.csv")


def test_holdout_divides_64_16_20():
    (fold,) = holdout(dataset(), seed=0).folds

    assert (len(fold.train_y), len(fold.validation_y), len(fold.test_y)) == (128, 32, 40)


def test_the_seed_makes_the_split():
    one, same, other = (holdout(dataset(), seed).folds[0].train_x for seed in (0, 0, 1))

    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_class_with_one_member_is_trained_on():
    rare = dataset()
    target = rare.target.cat.add_categories("rare")
    target.iloc[7] = "rare"
    object.__setattr__(rare, "target", target)
    (fold,) = holdout(rare, seed=3).folds

    assert 2 in fold.train_y


def test_missing_everywhere_and_unseen_categories_become_numbers():
    nominal = pd.Categorical(["x"] * 199 + ["only once"])
    (fold,) = holdout(dataset(empty=np.full(200, np.nan), nominal=nominal), seed=0).folds

    assert all(np.isfinite(x).all() for x in (fold.train_x, fold.validation_x, fold.test_x))


def test_standard_scale_uses_the_training_rows():
    (fold,) = holdout(dataset(), seed=0, scale="standard").folds

    assert fold.train_x.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert fold.train_x.std(axis=0) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(fold.test_x.mean(axis=0), 0, atol=1e-5)


def test_cross_validation_tests_a_fit_on_all_training_rows():
    arrays = cross_validation(dataset(), seed=0, folds=5)

    assert [len(fold.validation_y) for fold in arrays.folds] == [32] * 5
    assert all(fold.test_x is None for fold in arrays.folds)
    assert (len(arrays.refit.train_y), len(arrays.refit.test_y)) == (160, 40)


def test_a_split_column_is_obeyed_and_is_no_feature():
    said = pd.Categorical(["train"] * 150 + ["test"] * 50)
    arrays = cross_validation(dataset(split=said), seed=0, folds=3, column="split")

    assert arrays.refit.train_x.shape == (150, 2)
    assert len(arrays.refit.test_y) == 50


def test_folds_are_stratified_in_the_order_of_the_rows():
    fold_of = dealt(np.array([0] * 6 + [1] * 3), 3)

    assert fold_of.tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]


def test_rare_classes_are_spread_over_the_folds():
    assert sorted(dealt(np.array([0, 1, 2]), 3).tolist()) == [0, 1, 2]
