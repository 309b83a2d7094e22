"""A row that a caller sends is read as the same row of a batch."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.keep.conform import check, row_check
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.rows import as_sent, features_of, row_reader, values_in
from leaseboard.tasks.keep.settings import DataSettings
from tests.tasks.keep.test_conform import NOW, RULES, VALUES

DATA = DataSettings(source="folder:*.csv", target="y")


@given(st.sampled_from([*RULES]), VALUES)
def test_what_keeps_the_contract_is_read_alike(name, value):
    contract = Contract(columns={name: RULES[name]})
    frame = pd.DataFrame({name: pd.Series([value], dtype=object)})
    if row_check(contract)({name: value}) is not None:
        return
    (taken,) = values_in(check(contract, frame, now=NOW).rows)
    assert row_reader(features_of(contract, DATA))({name: value}) == taken


def test_what_a_row_lacks_is_missing():
    features = features_of(Contract(columns=RULES), DATA)
    read = row_reader(features)({"number": "3"})
    assert read.pop("number") == 3.0
    assert set(read.values()) == {None}


def test_rows_are_sent_as_they_were_read():
    features = features_of(Contract(columns=RULES), DATA)
    row = {"number": 1.5, "flag": 1.0, "date": "2026-01-02T00:00:00", "closed": "3"}
    sent = as_sent([row, {}], features)
    assert sent["flag"].tolist()[0] == 1.0
    assert as_sent([row], features)["flag"].tolist() == [True]
    assert row_reader(features)(as_sent([row], features).to_dict("records")[0]) == {
        **dict.fromkeys(RULES), **row
    }  # fmt: skip


@pytest.mark.parametrize("use", ["target", "id"])
def test_target_and_identity_are_no_features(use):
    data = DATA.model_copy(update={use: "text"})
    names = [each.name for each in features_of(Contract(columns=RULES), data)]
    assert names == [name for name in RULES if name != "text"]
