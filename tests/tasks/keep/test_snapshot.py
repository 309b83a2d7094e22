"""A lineage at a moment: saved, read again, and asked by many at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.rows import features_of
from leaseboard.tasks.keep.snapshot import snapshot_of
from leaseboard.tasks.models.load import load
from leaseboard.tasks.store.live_tables import in_role
from tests.tasks.keep.shops import Shop


@pytest.fixture(params=["regression", "classification"])
def sold(request, tmp_path):
    """A shop after a day, and its champion's snapshot."""
    shop = Shop(tmp_path, request.param, b=3).turn()
    champion = in_role(shop.kept.state.lineages(), "champion")
    features = features_of(shop.contract(), shop.kept.keep.data)
    content = shop.kept.state.model(champion.model)
    return shop, snapshot_of(champion.name, shop.kept.recipe, features, content)


def test_it_forecasts_the_same_when_it_was_saved_and_read(sold, tmp_path):
    shop, snapshot = sold
    sent = shop.rows(1).drop(columns=["order", "revenue"])
    sent["day"] = sent["day"].dt.tz_localize(None)
    (tmp_path / "saved").mkdir()
    snapshot.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict(sent), snapshot.predict(sent))
    rows = [snapshot.read(row) for row in sent.to_dict("records")]
    assert again.foresee(rows) == snapshot.foresee(rows)


def test_what_a_row_lacks_is_missing(sold):
    _, snapshot = sold
    lacking = {"price": 1.0}
    whole = {"price": 1.0, "day": None, "rain": None, "shop": None}
    assert snapshot.foresee([lacking]) == snapshot.foresee([whole])


def test_a_value_of_another_kind_is_refused(sold):
    _, snapshot = sold
    for row in ({"price": "cheap"}, {"rain": "perhaps"}, {"day": "tomorrow"}):
        with pytest.raises(DataError, match="as the model has learned it"):
            snapshot.read(row)


def test_many_threads_may_ask_at_once(sold):
    _, snapshot = sold
    rows = [snapshot.read({"price": i / 10, "shop": "x"}) for i in range(20)]
    alone, found = snapshot.foresee(rows), []
    threads = [
        threading.Thread(target=lambda: found.append(snapshot.foresee(rows))) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [alone] * 4
