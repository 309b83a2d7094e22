"""``leaseboard model``: which winners are registered, under which names."""

from types import SimpleNamespace

import pytest

from algorithms.errors import LeaseboardError, UsageError
from flows.commands import model
from tasks import results
from tasks.models import winner


@pytest.fixture
def recorded(monkeypatch):
    """The names under which a suite's winners come to the registry; the second has none."""

    def winner_of(suite, results, data):
        if data == "file:b.csv":
            raise UsageError("no algorithm has a score")
        return SimpleNamespace(job=None, results=[None])

    names = []
    monkeypatch.setattr(winner, "winner_of", winner_of)
    monkeypatch.setattr(winner, "fit", lambda *_, **__: None)
    monkeypatch.setattr(results, "read_results", lambda _: [])
    monkeypatch.setattr(model, "record", lambda name, *_: names.append(name))
    return names


def suite_on(*references):
    data = [SimpleNamespace(data=reference, name=None) for reference in references]
    return SimpleNamespace(name="v1.2", data=data)


def test_a_winner_that_fails_does_not_lose_the_others(recorded, tmp_path, capsys):
    suite = suite_on("file:a.csv", "file:b.csv", "file:c.csv")
    with pytest.raises(LeaseboardError, match="1 of 3 winners were not registered"):
        model.register_winners(suite, tmp_path, "s3", mirror=None, tracking_uri=None)

    assert recorded == ["s3-file-a-csv", "s3-file-c-csv"]
    assert "the winner on file:b.csv: no algorithm has a score" in capsys.readouterr().err


def test_a_bad_name_is_refused_before_any_work_and_that_of_a_suite_is_mended(recorded, tmp_path):
    suite = suite_on("file:a.csv")
    with pytest.raises(UsageError, match="must not be empty or hold"):
        model.register_winners(suite, tmp_path, "s.3", mirror=None, tracking_uri=None)
    model.register_winners(suite, tmp_path, None, mirror=None, tracking_uri=None)

    assert recorded == ["v1-2"]
