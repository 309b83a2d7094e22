"""Facts of a table: planted leaks and shuffled time are seen, chance is not."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.fetch.columns import tidy_frame
from leaseboard.tasks.fetch.data_facts import facts_of

N = 600


def facts(frame, y):
    return facts_of(tidy_frame(frame), y)


def table(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table in time order whose labels drift slowly, and no column that leaks."""
    rng = np.random.default_rng(seed)
    y = pd.Series(np.sin(np.arange(N) / 40) + 0.3 * rng.normal(size=N), name="y")
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(N), unit="h"),
            "x": 0.5 * y + rng.normal(size=N),
            "shop": pd.Categorical(rng.choice(list("abc"), N)),
        }
    )
    return frame, y


STREAMS = {
    "a random walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
    "a trend": lambda rng, n: np.arange(n) + 3 * rng.normal(size=n),
    "seasons": lambda rng, n: 10 * np.sin(np.arange(n) / 700) + 0.5 * rng.normal(size=n),
    "runs of classes": lambda rng, n: np.repeat(rng.integers(0, 2, n // 100), 100).astype(str),
}
ROW = np.arange(4000)
POSITIONS = {
    "a timestamp": pd.date_range("2026-01-01", periods=len(ROW), freq="h"),
    "an id": ROW,
    "the newest first": -ROW,
    "a day": ROW // 24,
    "seconds": np.cumsum(np.random.default_rng(1).exponential(size=len(ROW))),
    "one a shop": ROW % (len(ROW) // 4),
}


def stream_of(labels, rng):
    y = STREAMS[labels](rng, len(ROW))
    return pd.Series(y, dtype="category" if labels == "runs of classes" else None)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("labels", STREAMS)
def test_the_place_of_a_row_in_a_smooth_stream_does_not_leak(labels, position):
    rng = np.random.default_rng(0)
    y = stream_of(labels, rng)
    frame = pd.DataFrame({"at": POSITIONS[position], "x": rng.normal(size=len(y))})

    assert facts(frame, y)["leak_skill"] < 0.9


@pytest.mark.parametrize("leak", [
    lambda y: 1000 * y + 7,
    lambda y: pd.Timestamp("2026-01-01") + pd.to_timedelta((1e6 * (y - y.min())).round(), "s"),
    lambda y: (1e6 * -y).round().astype("int64"),
])  # fmt: skip
@pytest.mark.parametrize("order", ["as it came", "sorted", "shuffled"])
def test_a_function_of_the_target_leaks_in_any_order_of_rows(order, leak):
    y = stream_of("a random walk", rng := np.random.default_rng(0))
    places = {"as it came": np.arange(len(y)), "sorted": np.argsort(y),
              "shuffled": rng.permutation(len(y))}  # fmt: skip
    y = y.iloc[places[order]].reset_index(drop=True)

    assert facts(pd.DataFrame({"planted": leak(y)}), y)["leak_skill"] > 0.98


def test_an_identity_of_rows_and_labels_that_are_shuffled_do_not_leak():
    frame, y = table()
    high = (y > 0).astype(str).astype("category")
    ids = pd.Series([f"row {i}" for i in range(N)], dtype="category")
    assert facts(frame[["x"]].assign(id=ids), high)["leak_skill"] < 0.6
    assert facts(pd.DataFrame({"constant": np.zeros(N)}), high)["leak_skill"] <= 0
    for seed in range(3):
        frame, y = table(seed)
        shuffled = pd.Series(np.random.default_rng(seed).permutation(y), name="y")
        assert facts(frame, shuffled)["leak_skill"] < 0.2


def test_rows_in_time_order_are_in_order_and_shuffled_ones_are_not():
    frame, y = table()
    mixed = facts(frame.sample(frac=1, random_state=0), y)

    assert facts(frame, y)["time_discordant"] == 0.0
    assert (mixed["time_discordant"], mixed["time_column"]) == (
        pytest.approx(0.5, abs=0.02),
        "day",
    )


ROWS = np.arange(N)
MOMENTS = {"newest first": (ROWS[::-1], True), "blocks": ((ROWS + 300) % N, True),
           "birth": (ROWS * 37 % 601, False)}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_a_time_is_certain_by_blocks_of_rows_in_its_order(name):
    moments, certain = MOMENTS[name]
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(moments, "h")

    found = facts(pd.DataFrame({name: days}), table()[1])

    assert found["time_discordant"] > 0.02
    assert found["time_certain"] == certain
    assert "time_column" not in facts(pd.DataFrame({name: days, "b": days}), table()[1])
