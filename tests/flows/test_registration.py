"""``--register``: which winners are registered, under which names."""

from types import SimpleNamespace

import pytest

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.commands import run as registration
from leaseboard.tasks.folder import results
from leaseboard.tasks.models import winner


@pytest.fixture
def recorded(monkeypatch):
    """Return the names under which a suite's winners are registered; the second has none."""

    def winner_of(jobs, results, data):
        if data == "file:b.csv":
            raise UsageError("no algorithm has a score")
        return None, [None]

    names = []
    monkeypatch.setattr(winner, "winner_of", winner_of)
    monkeypatch.setattr(winner, "fit", lambda *_, **__: None)
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
