import datetime as dt
import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.live.contract_check import FEW, check, row_reader
from leaseboard.tasks.live.first_files import infer
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.monitoring import report_stale_rows
from leaseboard.tasks.live.settings import BatchRules, ColumnRule, Contract, DataSettings

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
N = 200
RULES = {
    "number": ColumnRule(kind="number", low=-3, high=1e6),
    "free number": ColumnRule(kind="number", missing=0.5),
    "integer": ColumnRule(kind="integer", low=0, high=2**60, missing=1),
    "flag": ColumnRule(kind="flag"),
    "date": ColumnRule(kind="date", missing=1),
    "text": ColumnRule(kind="text", missing=1),
    "open": ColumnRule(kind="category", categories=["a"], missing=1),
    "closed": ColumnRule(kind="category", categories=["a", "3", "True"], closed=True),
}
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.sampled_from(
        ["a", "3", "3.0", "true", "-3", "1e6", "1e400", "nan", "1_000", " 4 ", "", "2024-02-30",
         "2024-02-29", "2024-02-29 25:00", "2024-02-29T12:00+01:00", b"a", [1], (), {"a": 1},
         pd.NA, pd.NaT, np.float32(3.1), np.int8(3), np.bool_(True), np.datetime64("2024-01-01"),
         np.timedelta64(3, "s"), 2 + 3j, Decimal("NaN")]
    )
)  # fmt: skip
TYPED = {
    "float64": st.floats(),
    "float32": st.floats(width=32),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "Int64": st.none() | st.integers(-9, 9),
    "bool": st.booleans(),
    "datetime64[us]": st.none() | st.datetimes(),
    "str": st.none() | st.sampled_from(["a", "3", "x", "true", "2024-02-29"]),
    "category": st.none() | st.sampled_from(["a", "3"]),
}


def frame(n=N, seed=0):
    """Return a shop's days: honest rows."""
    generator = np.random.default_rng(seed)
    return pd.DataFrame({
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n) * 3, "h"),
        "price": generator.lognormal(3, 0.5, n),
        "temperature": generator.normal(8, 6, n),
        "pieces": generator.poisson(4, n),
        "weather": generator.choice(["sun", "rain"], n),
        "revenue": generator.lognormal(5, 1, n),
    })  # fmt: skip


@pytest.fixture
def contract():
    data = DataSettings(source="folder:*.csv", time="day", target="revenue")
    return infer(frame(), data)


def keys(remarks):
    return [remark.key for remark in remarks]


def agree(name, column):
    """Return whether a file and as many requests are judged alike."""
    contract = Contract(columns={name: RULES[name]})
    read = row_reader(contract.columns)

    found = check(contract, pd.DataFrame({name: column}), now=NOW)

    sent = [read({name: value}) for value in column]
    reported = [(row, why) for row, (_, why) in enumerate(sent)]
    assert found.breaks == ()
    assert [(each.position, each.column) for each in found.quarantined] == [
        (row, name) for row, why in reported if why is not None
    ]
    for each in found.quarantined:  # a request is quoted to its caller, a file to no one
        why = reported[each.position][1]
        assert why.startswith(f"{name} ")
        assert why.endswith(each.reason.removeprefix(name))
    assert [row.values for row in found.rows] == [values for values, why in sent if why is None]


@given(st.sampled_from([*RULES]), st.lists(VALUES, max_size=FEW - 1))
def test_a_file_and_a_request_are_judged_alike(name, values):
    agree(name, pd.Series(values, dtype=object))


@given(st.sampled_from([*RULES]), st.sampled_from([*TYPED]), st.data())
def test_a_file_may_have_any_type(name, dtype, data):
    agree(name, pd.Series(data.draw(st.lists(TYPED[dtype], max_size=FEW - 1)), dtype=dtype))


def test_rows_that_conform_have_the_types_of_the_contract():
    given_rows = pd.DataFrame({
        "number": ["1.5", 2, Decimal(3)],
        "integer": [1, 2.0, "3"],
        "flag": ["true", False, 1],
        "date": ["2024-02-29", dt.date(2024, 3, 1), None],
        "text": ["a", 3.0, None],
        "new": [1, 2, 3],
    })  # fmt: skip
    contract = Contract(columns={name: RULES[name] for name in given_rows if name in RULES})

    rows = [row.values for row in check(contract, given_rows, now=NOW).rows]

    assert [repr(list(row.values())) for row in rows] == [
        "[1.5, 1.0, 1.0, '2024-02-29T00:00:00', 'a']",
        "[2.0, 2.0, 0.0, '2024-03-01T00:00:00', '3']",
        "[3.0, 3.0, 1.0, None, None]",
    ]


def test_a_changed_unit_is_one_fault_of_the_column(contract):
    columns = ["price", "temperature", "pieces", "revenue"]
    for column, factor, seed in itertools.product(columns, (1000, 0.001), (1, 2, 3)):
        rows = frame(24, seed=seed)
        rows[column] = rows[column] * factor
        found = check(contract, rows, now=NOW)
        (fault,) = found.breaks
        assert repr(column) in fault.text
        assert (found.quarantined, len(found.rows)) == ((), 0)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda rows: rows.assign(price=None), "missing price"),
        (lambda rows: rows.drop(columns="price"), "column price"),
        (lambda rows: rows.assign(price="dear"), "values of price"),
        (lambda rows: rows.assign(day=None), "missing day"),
        (lambda rows: pd.concat([rows, rows[["price"]]], axis=1), "column price"),
    ],
)
def test_what_would_spoil_a_model_breaks_the_batch(contract, change, key):
    found = check(contract, change(frame()), now=NOW)

    assert keys(found.breaks) == [key]
    assert "\n" not in found.breaks[0].text


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda rows: rows.assign(wind=1.0), "column wind"),
        (lambda rows: rows[-3:], "number of rows"),
        (lambda rows: rows.assign(day=rows["day"] + timedelta(days=9)), "future day"),
    ],
)
def test_what_is_odd_is_reported_and_ingested(contract, change, key):
    rules = BatchRules(fresh=timedelta(days=8), least=4, most=2 * N)
    expecting = contract.model_copy(update={"rows": rules})
    given_rows = change(frame())

    found = check(expecting, given_rows, now=NOW, time="day")

    assert keys(found.remarks) == [key]
    assert len(found.rows) == len(given_rows)


def test_times_without_a_zone_are_utc(contract):
    rules = BatchRules(fresh=timedelta(hours=2))
    expecting = contract.model_copy(update={"rows": rules})

    said = []
    update = SimpleNamespace(
        contract=expecting, found=[], now=NOW, lifecycle=LifecycleState(),
        settings=SimpleNamespace(data=SimpleNamespace(time="day")),
        incident=lambda *what: said.append(what),
    )  # fmt: skip
    for minute in (60, 59):
        update.lifecycle.newest_row = datetime(2026, 1, 31, 9) + timedelta(minutes=minute)
        report_stale_rows(update)

    what = "the newest day is 2026-01-31 09:59 UTC, that is 2:01:00 ago: at most 2h is fresh"
    assert said == [("stale", "age of day", what)]
