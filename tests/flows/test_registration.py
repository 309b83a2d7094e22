"""``--register``: which winners are registered, under which names."""

from types import SimpleNamespace

import pytest

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.commands import registration
from leaseboard.tasks.folder import results
from leaseboard.tasks.models import chosen, winner
from leaseboard.tasks.track.store import open_store

OWN = """
title: my own sales
data:
  - "file:my sales.csv?target=units sold"
  - "file:my sales.csv?target=units sold&threshold=3"
baselines: false
algorithms: [vanilla]
"""


@pytest.fixture
def recorded(monkeypatch):
    """Return the names under which a suite's winners are registered; the second has none."""

    def winner_of(jobs, results, data):
        if data == "file:b.csv":
            raise UsageError("no algorithm has a score")
        return None, [None]

    names = []
    monkeypatch.setattr(winner, "winner_of", winner_of)
    monkeypatch.setattr(chosen, "fit", lambda *_, **__: None)
    monkeypatch.setattr(results, "current", lambda _: [])
    monkeypatch.setattr(registration, "record", lambda name, *_: names.append(name))
    return names


def suite_on(*references):
    data = [SimpleNamespace(data=reference, name=None) for reference in references]
    return SimpleNamespace(name="v1.2", data=data, jobs=list)


def test_a_winner_that_fails_does_not_lose_the_others(recorded, tmp_path, capsys):
    suite = suite_on("file:a.csv", "file:b.csv", "file:c.csv")
    with pytest.raises(LeaseboardError, match="1 of 3 winners were not registered"):
        registration.register_winners(suite, tmp_path, "s3")

    assert recorded == ["s3-file-a-csv", "s3-file-c-csv"]
    assert "the winner on file:b.csv: no algorithm has a score" in capsys.readouterr().err


def test_a_bad_name_is_refused_before_any_work(recorded, tmp_path):
    with pytest.raises(UsageError):
        registration.register_winners(suite_on("file:a.csv"), tmp_path, "s.3")
    assert not recorded


@pytest.mark.slow
def test_a_file_of_ones_own_from_run_to_registry(leaseboard, store, tmp_path):
    rows = [f"{i / 7:.2f},{'MonTueWed'[i % 3 * 3 :][:3]},{i * 0.1:.1f}" for i in range(200)]
    (tmp_path / "my sales.csv").write_text("\n".join(["price (EUR),day,units sold", *rows]))
    (tmp_path / "sales.yaml").write_text(OWN)

    leaseboard("run", "sales.yaml", "--local", "--workers", "1", "--register", "sales")
    first = "sales-file-my-sales-csv-target-units-sold"
    names = [first, f"{first}-threshold-3"]
    found = open_store(store).search_registered_models()
    assert {each.name: each.aliases for each in found} == {n: {"challenger": 1} for n in names}
    refused = leaseboard("live", "promote", first, code=64)
    assert f"'{first}' is not a live model" in refused.err
