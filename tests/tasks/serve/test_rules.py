"""The contract for single rows, and its file."""

from __future__ import annotations

import os

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.live.contract import ColumnRule, Contract
from leaseboard.tasks.live.settings import DataSettings, LiveSettings
from leaseboard.tasks.serve.champion import Follower, RowRules
from tests.tasks.live.shops import CONTRACT

DATA = DataSettings(source="folder:*.csv", id="order", target="revenue")
ROW = {"order": "a", "day": "2026-01-02", "price": 1}


def test_a_row_needs_no_label_and_a_label_no_row():
    rules = RowRules(CONTRACT, DATA)
    assert rules.row_fault({**ROW, "rain": None, "shop": None, "more": []}) is None
    assert rules.row_fault({**ROW, "rain": None}) == "no column 'shop'"
    assert rules.label_fault({"order": "a", "revenue": "2"}) is None
    assert rules.label_fault({"order": "a"}) == "no column 'revenue'"
    assert rules.label({"revenue": "2"}) == 2.0


def test_rows_without_ids_are_taken_if_the_live_model_has_none():
    rules = RowRules(CONTRACT, DATA.model_copy(update={"id": None}))
    assert rules.identity(ROW) is None


def test_an_id_is_short_and_something():
    rules = RowRules(CONTRACT, DATA)
    for good in ("a", "\n", "é" * 500, 5):
        assert rules.label_fault({"order": good, "revenue": 1}) is None
    for bad in ("", "\0", "a" * 501):
        fault = rules.label_fault({"order": bad, "revenue": 1})
        assert fault.endswith("is not an id: write 1 to 500 characters without NUL")
        assert len(fault) < 200


def test_the_contract_is_read_again_when_it_was_edited(tmp_path):
    path = tmp_path / "contract.yaml"
    path.write_text(CONTRACT.to_yaml())
    follower = Follower("", LiveSettings(name="sales", data=DATA, contract=path), lambda _: None)
    first = follower.rules
    follower._read_rules()
    assert follower.rules is first
    other = Contract(columns={**CONTRACT.columns, "more": ColumnRule(kind="number")})
    path.write_text(other.to_yaml())
    os.utime(path, ns=(1, 1))
    follower._read_rules()
    assert "no column 'more'" in follower.rules.row_fault({**ROW, "rain": 1, "shop": "x"})
    path.write_text("columns: {}")
    for _ in range(2):
        with pytest.raises(LeaseboardError, match=r"contract\.yaml"):
            follower._read_rules()
    path.unlink()
    with pytest.raises(LeaseboardError, match=r"contract\.yaml"):
        follower._read_rules()
