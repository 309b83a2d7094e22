from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.fetch.loading import read_mirror
from leaseboard.tasks.live.contract_check import check
from leaseboard.tasks.live.first_files import WHOLE, infer
from leaseboard.tasks.live.settings import ColumnRule, DataSettings

NOW = datetime(2026, 1, 31, tzinfo=UTC)
N = WHOLE
ORDERS = DataSettings(source="folder:*.csv", time="day", id="order", target="revenue")


@pytest.fixture
def frame():
    generator = np.random.default_rng(0)
    return pd.DataFrame({
        "order": np.arange(N),
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(N) // 100, "D"),
        "price": generator.uniform(1, 9, N).round(2),
        "pieces": generator.poisson(4, N),
        "vip": generator.random(N) < 0.1,
        "weather": generator.choice(["sun", "rain"], N),
        "note": [f"note {row}" for row in range(N)],
        "empty": [np.nan] * N,
        "shop": 3,
        "revenue": generator.lognormal(5, 1, N),
    })  # fmt: skip


def test_each_column_gets_the_rule_of_its_kind(frame):
    found = infer(frame, ORDERS, [90, 100]).columns

    kinds = {name: rule.kind for name, rule in found.items()}
    assert kinds == {
        "order": "text", "day": "date", "price": "number", "pieces": "integer", "vip": "flag",
        "weather": "category", "note": "text", "empty": "undecided", "shop": "integer",
        "revenue": "number",
    }  # fmt: skip
    assert found["order"] == ColumnRule(kind="text")
    assert found["price"] == ColumnRule(
        kind="number", low=-79, high=89, size=[0.16, 150], missing=0.05
    )
    assert found["weather"].categories == ["rain", "sun"]
    assert found["shop"] == ColumnRule(kind="integer", missing=0.05)
    assert (found["revenue"].missing, found["revenue"].required) == (1, False)


@pytest.mark.parametrize("factor", [2, 10])
def test_what_only_grows_may_grow_on_and_a_changed_unit_is_outside(factor):
    counts = pd.DataFrame({"count": np.arange(500.0), "y": 1.0})
    contract = infer(counts, DataSettings(source="folder:*.csv", target="y"))

    assert check(contract, counts * factor, now=NOW).breaks == ()
    assert check(contract, counts[9:] * factor * 1000, now=NOW).breaks != ()


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["42713", "151"])
def test_honest_rows_of_drifting_data_are_kept(mirror, name):
    """Bike sharing and electricity in the order of time; the first tenth says what is right."""
    frame = read_mirror(name, (mirror,)).frame
    first, later = np.split(np.arange(len(frame)), [len(frame) // 10])
    target = str(frame.columns[-1])
    contract = infer(frame.iloc[first], DataSettings(source="folder:*.csv", target=target))

    for start in range(0, len(later), 480):
        found = check(contract, frame.iloc[later[start : start + 480]], now=NOW)
        assert (found.quarantined, found.breaks) == ((), ())
