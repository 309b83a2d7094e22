from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import yaml

from leaseboard.algorithms.errors import DataError, SkipError
from leaseboard.tasks.evaluate import frameworks
from leaseboard.tasks.evaluate.frameworks import SystemFits
from leaseboard.tasks.evaluate.spaces import SUITED, load_space
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.encoders import labels_of
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.database import Store


@pytest.fixture
def fits(tmp_path):
    """Make the fits of systems to four fifths of a dataset."""

    def make(data, seed=0):
        rows = split(data, (0.8, 0.2), seed)
        store = Store(tmp_path / "store.sqlite")
        return SystemFits(data, rows.train, rows.test, split={"seed": seed}, store=store), rows

    return make


def mixed(n=200):
    """Return numbers and a nominal column with gaps, and a boolean; the label is nominal."""
    kinds = np.arange(n) % 3
    features = pd.DataFrame(
        {
            'a "number"': np.where(np.arange(n) % 7, np.arange(n) / n, np.nan),
            "kind": pd.Categorical.from_codes(np.where(np.arange(n) % 11, kinds, -1), list("xyz")),
            "even": np.arange(n) % 2 == 0,
        }
    )  # fmt: skip
    target = pd.Series(pd.Categorical.from_codes(kinds, ["p", "q", "r"]))
    return Dataset("file:mixed", "mixed", features, target, "classification", "digest")


def test_gaps_and_nominal_columns_are_learned_as_the_library_advises(fits):
    for system in ("lightgbm", "forest"):
        found, rows = fits(mixed())
        fit = found.fit(system, 0, 30.0)

        assert np.mean(fit.predictions == labels_of(mixed())[rows.test]) > 0.9
        assert 0 < fit.cost.cpu_seconds < 30
        assert fit.cost.spent_cpu_seconds == fit.cost.cpu_seconds
        assert 50 < fit.cost.peak_memory_mb < 2000


def test_a_fit_of_ours_is_run_again_when_its_space_changes(fits, monkeypatch, tmp_path):
    asked = Mock(side_effect=SkipError("not run"))
    monkeypatch.setattr(Store, "records", asked)

    def key():
        with pytest.raises(SkipError):
            fits(mixed())[0].fit("leaseboard", 0, 30.0)
        return asked.call_args.args[0]

    shipped, repeated = key(), key()
    monkeypatch.chdir(tmp_path)
    space = load_space(SUITED["classification"]).model_dump()
    (tmp_path / "conf" / "spaces").mkdir(parents=True)
    space["arms"].pop(next(iter(space["arms"])))
    name = f"{SUITED['classification']}.yaml"
    (tmp_path / "conf" / "spaces" / name).write_text(yaml.safe_dump(space, sort_keys=False))

    assert shipped == repeated != key()


def test_a_fit_is_run_once_and_replayed(fits):
    first = fits(mixed())[0].fit("lightgbm", 0, 30.0)
    again = fits(mixed())[0].fit("lightgbm", 0, 30.0)

    assert again.cost.spent_cpu_seconds == 0
    assert (again.cost.cpu_seconds, *again.predictions) == (
        first.cost.cpu_seconds,
        *first.predictions,
    )


def test_no_label_of_a_test_row_leaves_this_process(fits):
    found, rows = fits(mixed())
    sent = found._data()

    assert set(sent) == {"categories", "train", "test", "labels"}
    assert len(sent["labels"]) == len(rows.train)


def test_dates_are_numbers_and_our_own_folds_respect_them(fits):
    data = mixed()
    data.features["day"] = pd.date_range("2026-01-01", periods=200)[::-1]
    made, rows = fits(data)
    sent, days = made._data(), list(made.dataset.features).index("day days")
    train = sent["train"][days]

    assert rows.test.tolist() == list(range(40))
    assert train.max() < sent["test"][days].min()
    assert len(sent["cv"]) == frameworks.FOLDS
    assert all(train[before].max() < train[after].min() for before, after in sent["cv"])


def test_a_column_that_not_every_system_takes_is_refused_by_name(fits):
    data = mixed()
    data.features["said"] = pd.Series(["a long text"] * len(data.features), dtype=object)

    with pytest.raises(DataError, match="column 'said' holds free text"):
        fits(data)
