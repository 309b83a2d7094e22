"""A race whose models see what it computes is served whole, and predicts as it would have."""

import itertools
import threading

import mlflow.pyfunc
import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.tasks.models import logged
from leaseboard.tasks.models.model import load
from leaseboard.tasks.preprocess.stream_encoder import StreamEncoder
from leaseboard.tasks.preprocess.streaming import as_stream

FRIED = "synthetic:fried?rows=400&seed=0"


@pytest.fixture
def raced(race):
    """Return what online-automl's run left, and its model: on 400 rows, with four live models."""
    _, left, fitted = race("online-automl", FRIED, settings={"b": 4})
    return left, fitted


def next_predictions(left, fitted):
    """Return what the race would predict for each row if that came next."""
    return np.array([left.predict(row) for row in as_stream(fitted.dataset).features])


def test_the_registered_race_predicts_what_the_race_would_have_next(raced):
    left, fitted = raced
    features = fitted.dataset.features
    expected = next_predictions(left, fitted)

    assert isinstance(left, SafeRace)
    np.testing.assert_array_equal(load(fitted.model.dump(), "it").predict(features), expected)
    np.testing.assert_array_equal(fitted.model.predict(features), expected)
    assert np.ptp(expected) > 0


def test_a_served_race_learns_nothing_and_is_asked_from_many_threads(raced):
    left, fitted = raced
    model, features = load(fitted.model.dump(), "it"), fitted.dataset.features
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(model.predict(features))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, next_predictions(left, fitted))


def test_a_race_is_served_by_mlflow(raced, tmp_path):
    left, fitted = raced
    logged._write(tmp_path / "model", fitted.model, fitted.dataset.features, "m-1")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))

    np.testing.assert_array_equal(
        served.predict(fitted.dataset.features), next_predictions(left, fitted)
    )


def test_a_damaged_race_is_one_clear_line(raced):
    _, fitted = raced
    content = fitted.model.dump()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    for damaged in (content[:middle], flipped, b"", b"no race"):
        with pytest.raises(UsageError, match=r"^it is not a model of the format [^\n]*$"):
            load(damaged, "it")


def test_a_race_of_a_users_own_code_is_not_registered(race, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML\n"
        "class Mine(OnlineAutoML):\n    pass\n"
    )
    with pytest.raises(UsageError, match=r"algorithm '.*mine.py:Mine' is not a race"):
        race(f"{path}:Mine", FRIED, settings={"b": 2})


@pytest.fixture
def gappy(tmp_path):
    """Return a csv with a date and with gaps in one of its two columns of numbers."""
    random = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=300, freq="7h")
    x, whole = random.normal(size=300), random.integers(0, 9, 300)
    frame = pd.DataFrame({"t": times, "x": x, "whole": whole, "y": x + whole + times.hour})
    frame.loc[::7, "x"] = np.nan
    frame.to_csv(tmp_path / "gappy.csv", index=False)
    return f"file:{tmp_path / 'gappy.csv'}"


@pytest.mark.parametrize("algorithm", ["online-automl", "vanilla"])
@pytest.mark.parametrize("missing", ["fill", "zero"])
def test_a_row_with_gaps_and_dates_is_served_as_what_was_learned_says(
    race, gappy, tmp_path, algorithm, missing
):
    settings = {"b": 3} if algorithm == "online-automl" else {}
    _, _, fitted = race(
        algorithm, gappy, settings=settings, budget=200, environment={"missing": missing}
    )
    model = load(fitted.model.dump(), "it")
    rows = fitted.dataset.features.iloc[197:203]
    sent = pd.DataFrame({"whole": [None, 3.0], "t": ["2024-05-05T05:00", None], "x": [1.0, None]})

    assert np.array_equal(model.predict(rows), fitted.model.predict(rows))
    assert np.isfinite(model.predict(sent)).all()  # `whole` was never missing, nor was `t`
    logged._write(tmp_path / "model", fitted.model, fitted.dataset.features, "m-1")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    sent = sent.assign(t=pd.to_datetime(sent["t"]))
    assert np.array_equal(served.predict(sent), model.predict(sent))
    # Rows that come after the budget do not count in what fills gaps.
    first = pd.DataFrame({"x": fitted.dataset.features["x"].iloc[:200]})
    stood = StreamEncoder(missing=missing).fit(first).transform(pd.DataFrame({"x": [np.nan]}))
    known = model.encoder.transform(rows.assign(x=np.nan))
    assert known[0, model.encoder.names().index("x")] == stood[0, 0]


def test_a_model_of_a_stream_with_free_text_is_served(race, tmp_path):
    random = np.random.default_rng(0)
    words = np.array(["".join(pair) for pair in itertools.product("bdfgk", "aeiou")])
    texts = [" ".join(random.choice(words, 90)) for _ in range(60)]
    labels = [text.count("ba") / 9 for text in texts]
    pd.DataFrame({"text": texts, "y": labels}).to_csv(tmp_path / "notes.csv", index=False)
    _, _, fitted = race("vanilla", f"file:{tmp_path / 'notes.csv'}")
    logged._write(tmp_path / "model", fitted.model, fitted.dataset.features, "m-1")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    sent = pd.DataFrame({"text": ["ba ba ba", "du", None]})

    assert np.array_equal(served.predict(sent), fitted.model.predict(sent))
    assert served.predict(sent)[0] > served.predict(sent)[1]


def test_races_of_many_classes_are_served_as_the_class_that_they_would_name(race):
    result, left, fitted = race(
        "online-automl", "synthetic:waveform?rows=300&seed=0", settings={"b": 3}
    )
    features, stream = fitted.dataset.features, as_stream(fitted.dataset)
    expected = [stream.classes[int(left.predict(row).argmax())] for row in stream.features]

    assert result.status == "ok"
    assert len(stream.classes) == 3
    assert load(fitted.model.dump(), "it").predict(features).tolist() == expected
    assert fitted.model.predict(features).tolist() == expected
    assert (np.array(expected) == fitted.dataset.target.astype(str)).mean() > 0.7


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha-literal"])
def test_two_classes_that_came_of_three_are_served_by_name(algorithm, race, tmp_path):
    a = np.random.default_rng(0).choice([-1.0, 1.0], 300)
    a[:2] = -1.0, 1.0
    kinds = np.where(a > 0, "c", "a")
    kinds[-1] = "b"
    pd.DataFrame({"x": a, "y": kinds}).to_csv(tmp_path / "kinds.csv", index=False)
    environment, settings = {"max_rows": 299}, {"b": 3}
    data = f"file:{tmp_path / 'kinds.csv'}"
    result, _, fitted = race(algorithm, data, environment=environment, settings=settings)

    assert result.status == "ok"
    assert fitted.model.predict(fitted.dataset.features[:2]).tolist() == ["a", "c"]
