"""One table has the same features and losses wherever it is learned: no second encoding."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.columns import read_rows
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.preprocess.encoding import as_stream

N = 80
EFFECT = {"amber": 0.0, "blue": 9.0, "coral": -7.0, "dune": 4.0, "ebony": -3.0}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a csv with a number, a text, a date, a flag and ids, some of each missing."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({
        "size": rng.normal(size=N).round(4),
        "kind": rng.choice([*EFFECT], N),
        "when": [str(dt.datetime(2024, 3, 1) + dt.timedelta(hours=7 * i)) for i in range(N)],
        "open": rng.random(N) < 0.5,
        "user": [f"u{i}" for i in rng.integers(0, 60, N)],
    }).astype(object)  # fmt: skip
    late = rows.kind == "ebony"  # a text that no early row has
    rows.loc[late & (rows.index < N // 2), "kind"] = "blue"
    sold = 2 * rows["size"] + rows.kind.map(EFFECT) + 3 * rows.open + rng.normal(size=N) / 2
    for name in rows:
        rows.loc[rng.random(N) < 0.06, name] = None
    path = tmp_path_factory.mktemp("one") / "table.csv"
    rows.assign(sold=sold.astype(float).round(4), dear=np.where(sold > 2, "yes", "no")).to_csv(
        path, index=False
    )
    return path


def examples(table):
    """Yield the rows as a person reads them, without this project."""
    for row in pd.read_csv(table).to_dict("records"):
        x = {name: None if pd.isna(value) else value for name, value in row.items()}
        x["when"] = x["when"] and dt.datetime.fromisoformat(x["when"])
        yield x


def raced(name, table, drop, target):
    frame = pd.read_csv(table).drop(columns=drop)
    path = table.with_name(f"{target}.csv")
    frame.to_csv(path, index=False)
    stream = as_stream(load(f"file:{path}?target={target}"))
    environment = StreamEnvironment(stream)
    for _ in registry.build(name, {}).run(environment, 0):
        pass
    return path, environment


@pytest.mark.parametrize("algorithm", ["online-automl", "vanilla"])
def test_numbers_are_predicted_alike_by_race_learn_estimator_and_live_model(table, algorithm):
    path, environment = raced(algorithm, table, "dear", "sold")
    model, predictions = OnlineAutoMLRegressor(algorithm=algorithm), []
    for x in examples(table):
        label = x.pop("sold")
        del x["dear"]
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
    going_on = StreamModel.for_table(read_rows(path), target="sold", algorithm=algorithm)
    learned = going_on.learn_table(read_rows(path))
    live = Recipe("sold", "regression", algorithm, {}).new(algorithm)
    live.dates = ["when"]
    frame, live_says = read_rows(path), []
    for i, x in zip(range(30), examples(table), strict=False):
        row = frame.iloc[[i]].reset_index(drop=True)
        known = {name: x[name] for name in row.columns.drop("sold")}
        live_says.append(live.model.predict_one(known))
        (values,) = row.drop(columns="sold").to_dict("records")
        values["when"] = None if pd.isna(values["when"]) else values["when"].isoformat()
        live.learn([values], row.sold.tolist(), [str(i)])

    said = environment.predictions.tolist()
    assert np.float32(predictions).tolist() == said
    assert np.float32(learned.predictions.prediction).tolist() == said
    assert np.float32(live_says).tolist() == said[:30]
    assert learned.measures["rmse"] == pytest.approx(environment.score().metrics["rmse"], rel=1e-5)
    assert going_on.model._features.schema() == model._features.schema()
    assert environment.stream.schema == model._features.schema()


LABELS = {
    "numbers": lambda z: z.round(4),
    "two classes": lambda z: np.where(z > 0, "yes", "no"),
    "two numbers": lambda z: np.where(z > 0, 10, 2),
    "flags": lambda z: z < 0,
    "five classes": lambda z: np.array([*"tsrqp"])[np.digitize(z, [-1.5, -0.5, 0.5, 1.5])],
}


@pytest.mark.parametrize("kind", LABELS)
def test_every_measure_of_learn_is_that_of_race(kind, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3)).round(4)
    z = x @ [1.0, -1.0, 0.5] + rng.normal(size=150) / 2
    path = tmp_path / "table.csv"
    pd.DataFrame(x, columns=[*"abc"]).assign(y=LABELS[kind](z)).to_csv(path, index=False)
    job = Job(algorithm="online-automl", data=f"file:{path}?target=y", seed=0, environment_seed=0,
              name="online-automl")  # fmt: skip
    found = run_job(job, tmp_path)
    learned = StreamModel.for_table(read_rows(path)).learn_table(read_rows(path))

    measured = {name: value for name, value in learned.measures.items() if name != "skill"}
    same = {name: found.metrics[name] for name in measured}
    assert measured == pytest.approx(same, rel=1e-6)
