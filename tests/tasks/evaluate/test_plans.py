import numpy as np
import pandas as pd

from leaseboard.tasks.evaluate.trials import cross_validation, dealt, holdout
from leaseboard.tasks.fetch.dataset import Options, RawTable, finish


def dataset(n_rows=200, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), **columns})
    frame["y"] = np.where(frame["a"] > 0.5, "yes", "no")
    return finish(RawTable(frame, "toy"), Options(), "file:toy.csv")


def test_holdout_divides_64_16_20_by_the_seed():
    (fold,), (other,) = (holdout(dataset(), seed).folds for seed in (0, 1))

    assert (len(fold.train_y), len(fold.validation_y), len(fold.test_y)) == (128, 32, 40)
    assert not np.array_equal(fold.train_x, other.train_x)


def test_cross_validation_tests_a_fit_on_all_training_rows():
    arrays = cross_validation(dataset(), seed=0, folds=5)

    assert [len(fold.validation_y) for fold in arrays.folds] == [32] * 5
    assert all(fold.test_x is None for fold in arrays.folds)
    assert (len(arrays.refit.train_y), len(arrays.refit.test_y)) == (160, 40)


def test_a_split_column_is_obeyed_and_is_not_a_feature():
    said = pd.Categorical(["train"] * 150 + ["test"] * 50)
    arrays = cross_validation(dataset(split=said), seed=0, folds=3, column="split")

    assert arrays.refit.train_x.shape == (150, 2)
    assert len(arrays.refit.test_y) == 50


def test_by_time_folds_are_an_expanding_window_and_the_test_is_of_a_fit_up_to_it():
    days = np.random.default_rng(1).permutation(np.repeat(np.arange(100), 2))
    data = dataset(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"))
    # The last feature is the days since the first training row.
    of_cv, of_one = cross_validation(data, seed=0, folds=3), holdout(data, seed=0)
    for fold in of_cv.folds:
        assert fold.train_x[:, -1].max() < fold.validation_x[:, -1].min()
    assert [len(fold.train_y) for fold in of_cv.folds] == [40, 80, 120]
    (fold,) = of_one.folds
    assert fold.train_x[:, -1].max() < fold.validation_x[:, -1].min()
    assert (len(fold.train_y), len(fold.validation_y), len(fold.test_y)) == (128, 32, 40)
    for refit in (of_one.refit, of_cv.refit):
        assert refit.train_x[:, -1].max() < refit.test_x[:, -1].min()
        assert (len(refit.train_y), len(refit.test_y)) == (160, 40)


def test_folds_are_stratified_in_the_order_of_the_rows_and_rare_classes_spread():
    assert dealt(np.array([0] * 6 + [1] * 3), 3).tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]
    assert sorted(dealt(np.array([0, 1, 2]), 3).tolist()) == [0, 1, 2]
