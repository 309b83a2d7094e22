"""The loss of days whose labels have not come."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.watch.estimate import LEVEL, LossModel


def days(first, count, rows=40, classes=False):
    """Rows of which some are hard, more on some days than on others, and what they cost."""
    tables, losses, sure, numbers = [], [], [], []
    for number in range(first, first + count):
        generator = np.random.default_rng(number)
        hard = generator.random(rows) < generator.random()
        kind = np.where(hard, "hard", "easy")
        tables.append(pd.DataFrame({"kind": kind, "noise": generator.random(rows), "at": pd.NaT}))
        wrong = generator.random(rows) < np.where(hard, 0.5, 0.1)
        losses.append(pd.Series(wrong * 1.0 if classes else np.where(hard, 8, 2) + wrong))
        sure.append(pd.Series(np.where(hard, 0.6, 0.95) if classes else generator.random(rows)))
        numbers += [number] * rows
    return pd.concat(tables), pd.concat(losses), pd.concat(sure), numbers


@pytest.mark.parametrize("classes", [False, True])
def test_a_hard_day_is_seen_before_its_labels(classes):
    table, losses, sure, numbers = days(0, 40, classes=classes)
    model = LossModel(table, sure, losses, numbers)
    errors, naive, held = [], [], []
    for number in range(40, 80):
        new, came, forecast, _ = days(number, 1, classes=classes)
        found = model.estimate(new, forecast)
        errors.append(abs(found.loss - came.mean()))
        naive.append(abs(losses.mean() - came.mean()))
        held.append(found.low <= came.mean() <= found.high)

    assert np.mean(errors) < 0.6 * np.mean(naive)
    assert np.mean(held) >= LEVEL - 0.1


def test_it_is_the_same_every_time():
    table, losses, sure, numbers = days(0, 20)
    new, _, forecast, _ = days(20, 1)
    first, again = (
        LossModel(table, sure, losses, numbers).estimate(new, forecast) for _ in range(2)
    )

    assert first == again


def test_a_category_that_is_new_or_missing_is_taken():
    table, losses, sure, numbers = days(0, 20)
    new, _, forecast, _ = days(20, 1)
    new["kind"] = ["other", None] * 20

    assert LossModel(table, sure, losses, numbers).estimate(new, forecast).loss > 0


def test_few_days_tell_little():
    table, losses, sure, numbers = days(0, 13)
    with pytest.raises(DataError, match="13 settled days tells little: wait for 14"):
        LossModel(table, sure, losses, numbers)
