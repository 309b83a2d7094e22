"""A model that continues: several tables are one, though their columns seem of other kinds."""

import itertools

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.columns import read_rows
from leaseboard.tasks.models.stream_model import StreamModel


def learned(folder, *tables, **new):
    """Return a model of the tables, each a csv's lines, one after the other; and its file."""
    model = None
    for number, lines in enumerate(tables):
        path = folder / f"{number}.csv"
        path.write_text("\n".join(lines))
        frame = read_rows(path, model.kinds if model else None)
        model = model or StreamModel.for_table(frame, **new)
        model.learn_table(frame)
    model.model.save(folder / "model")
    return model, (folder / "model").read_bytes()


def flags(n, flag, seed=0):
    """Return rows of a number, of what `flag` gives in turn, and of a target that both move."""
    random, flag = np.random.default_rng(seed), itertools.cycle(flag)
    rows = ((round(random.normal(), 3), next(flag)) for _ in range(n))
    return [f"{a},{f},{a + (f.lower() == 'true'):.3f}" for a, f in rows]


GAPS, WHOLE = ("true", "", "false"), ("true", "false")


@pytest.mark.parametrize("parts", [(GAPS, WHOLE), (WHOLE, GAPS), (GAPS, ("",), WHOLE)])
def test_booleans_are_numbers_with_gaps_and_without(tmp_path, parts):
    parts = [flags(15, part, seed) for seed, part in enumerate(parts)]
    head = ["a,flag,sold"]
    halves, file = learned(tmp_path, *(head + part for part in parts))
    _, whole = learned(tmp_path, head + list(itertools.chain(*parts)))

    assert halves.kinds == {"a": "number", "flag": "number", "sold": "number"}
    assert file == whole


def test_a_model_that_knows_nothing_of_tables_is_refused_with_the_fix():
    model = OnlineAutoMLRegressor()
    model.about = {"target": "b"}

    with pytest.raises(UsageError, match="was not made by `leaseboard learn`: say which column"):
        StreamModel(model)


def test_numbers_are_not_classes_though_the_first_table_had_one_label():
    first = pd.DataFrame({"a": np.arange(30) + 0.5, "b": [7] * 30})
    model = StreamModel.for_table(first)
    model.learn_table(first)

    with pytest.raises(DataError, match=r"'b' now has 30 different .* --task regression"):
        model.learn_table(first.assign(b=first["a"]))
    model.learn_table(first.assign(b=[7, 8.5, 9] * 10))
    assert model.model.examples == 60


def test_classes_are_learned_and_raced_by_the_same_labels(tmp_path):
    """Where no label is pending, past labels count, and where one is, they do not."""
    random, n = np.random.default_rng(0), 300
    x, days = random.normal(size=n), pd.date_range("2024-01-01", periods=n // 3).repeat(3)
    kinds = np.array(["u", "v", "w"])[np.digitize(x + np.sin(np.arange(n) / 20), [-0.6, 0.6])]
    frame = pd.DataFrame({"day": days, "x": x, "kind": kinds})
    frame.to_csv(tmp_path / "kinds.csv", index=False)
    data, of = f"file:{tmp_path / 'kinds.csv'}", {"labels": "with=day"}

    learned = StreamModel.for_table(frame, settings={"b": 3}).learn_table(frame)
    raced = run_job(Job("online-automl", data, 0, 0, settings={"b": 3}, environment=of), tmp_path)

    assert learned.measures["error"] == raced.score
    assert learned.measures["log_loss"] == pytest.approx(raced.metrics["log_loss"], rel=1e-9)
