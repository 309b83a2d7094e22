"""A candidate at a moment: saved, and read again."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.tasks.live.rows import Snapshot, features_of
from leaseboard.tasks.models.model import load
from leaseboard.tasks.store.live_tables import in_role
from tests.tasks.live.shops import Shop


@pytest.fixture(params=["regression", "classification"])
def sold(request, tmp_path):
    """Return a shop after a day, and its champion's snapshot."""
    shop = Shop(tmp_path, request.param, b=3).update()
    champion = in_role(shop.live.state.candidates(), "champion")
    features = features_of(shop.contract(), shop.live.settings.data, {})
    return shop, Snapshot(features, load(shop.live.state.model(champion.model), "it"))


def test_it_predicts_the_same_when_it_was_saved_and_read(sold):
    shop, snapshot = sold
    sent = shop.rows(1).drop(columns=["order", "revenue"])
    sent["day"] = sent["day"].dt.tz_localize(None)
    again = load(snapshot.dump(), "it")
    np.testing.assert_array_equal(again.predict(sent), snapshot.predict(sent))
    rows = [snapshot.read(row) for row in sent.to_dict("records")]
    assert again.predict_rows(rows) == snapshot.predict_rows(rows)
