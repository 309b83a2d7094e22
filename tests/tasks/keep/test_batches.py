from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.conform import check
from leaseboard.tasks.keep.contract import ColumnRule, Contract
from leaseboard.tasks.keep.rows import identify
from leaseboard.tasks.keep.settings import DataSettings

DATA = DataSettings(source="folder:*.csv", target="y")
BY_ID = DATA.model_copy(update={"id": "order"})
NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = {
    "a": ColumnRule(kind="number", missing=1),
    "b": ColumnRule(kind="text", missing=1),
    "day": ColumnRule(kind="date", missing=1),
    "y": ColumnRule(kind="number", missing=1, required=False),
}
ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, None]), st.sampled_from(["u", "v", None])), max_size=30
)


def typed(frame):
    return check(Contract(columns=COLUMNS), frame, now=NOW).rows


def frame(rows):
    made = pd.DataFrame(rows, columns=["a", "b"]).astype({"a": float, "b": object})
    return made.assign(day=pd.Timestamp("2026-01-01"))


@given(ROWS)
def test_no_two_rows_of_a_batch_are_taken_for_one(rows):
    assert identify(frame(rows), DATA).is_unique


@given(ROWS, ROWS)
def test_a_file_that_grows_brings_the_rows_that_it_had(rows, more):
    before = identify(frame(rows), DATA)

    assert identify(frame(rows + more), DATA).tolist()[: len(rows)] == before.tolist()


def test_a_row_is_the_same_however_it_is_written():
    first = pd.DataFrame({"a": [1, 2], "b": ["3", "x"], "day": ["2026-01-02", "2026-01-03"]})
    later = pd.DataFrame({
        "y": [5.0, 6.0],  # the labels have come
        "day": pd.to_datetime(first["day"]),
        "b": [3, "x"],
        "a": ["1.0", 2.0],
    })  # fmt: skip

    assert identify(typed(first), DATA).tolist() == identify(typed(later), DATA).tolist()


@pytest.mark.parametrize("change", [{"a": 9.0}, {"b": "w"}, {"day": pd.NaT}, {"a": np.nan}])
def test_any_other_value_is_another_row(change):
    rows = frame([(1.0, "u")])

    assert identify(rows.assign(**change), DATA)[0] != identify(rows, DATA)[0]


def test_an_id_says_it_alone():
    rows = pd.DataFrame({"order": [7.0, 8.0], "a": [1, 1]}, index=[3, 5])

    found = identify(rows, BY_ID)

    assert found.to_dict() == {3: "7", 5: "8"}


def test_a_row_without_its_id_is_told():
    with pytest.raises(DataError, match="row 2 has no order"):
        identify(pd.DataFrame({"order": ["a", None]}), BY_ID)
