"""Algorithms by name; a log is the same bytes for the same events."""

import pickle
import textwrap

import pytest

from leaseboard.algorithms import events, registry
from leaseboard.algorithms.base import Algorithm, settings_of
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.events import FeaturesExpanded, Finished, LeaseGranted, Started

CUSTOM = textwrap.dedent(
    '''
    from pydantic.dataclasses import dataclass
    from leaseboard.algorithms.base import Algorithm

    @dataclass(frozen=True, kw_only=True)
    class Mine(Algorithm):
        """Does nothing."""
        environment = "stream"
        depth: int = 3

        def run(self, environment, seed):
            yield from ()
    '''
)


def test_every_entry_builds_and_has_a_summary_and_a_source():
    assert len(registry.names()) == len(registry.ENTRIES)
    environments = ("stream", "holdout", "pulls", "samples", "systems")
    wrong = [
        entry.name
        for entry in registry.ENTRIES
        if not isinstance(algorithm := registry.build(entry.name), Algorithm)
        or algorithm.environment not in environments
        or not (entry.source and type(algorithm).__doc__ and 0 < len(entry.summary) < 100)
    ]
    assert wrong == []


def test_an_unknown_name_says_the_nearest_and_no_absurd_one():
    with pytest.raises(UsageError, match="'vanila': did you mean 'vanilla'"):
        registry.build("vanila")
    for odd in ("nonsense", "promote", "-v", ""):
        assert "did you mean" not in str(unknown("name", odd, registry.names()))


def test_the_error_of_a_setting_is_pickled():
    again = pickle.loads(pickle.dumps(SettingError(UsageError("b=0: too few"), "b")))

    assert (str(again), again.setting) == ("b=0: too few", "b")


def test_an_algorithm_of_the_users_own(tmp_path):
    (tmp_path / "mine.py").write_text(CUSTOM)
    built = registry.build(f"{tmp_path / 'mine.py'}:Mine", {"depth": "7"})

    assert settings_of(built) == {"depth": 7}


def test_a_log_is_the_same_bytes_for_the_same_events(tmp_path):
    log = [
        Started(at=0, algorithm="a", environment="stream", unit="examples", budget=2,
                capacity=1, seed=0,
                settings={}),
        LeaseGranted(at=0, configuration=0, amount=2),
        FeaturesExpanded(at=1, parents=("x1", "x1·x2"), size=5, degree=2),
        Finished(at=2, reason="", score=0.5, metric="m", direction="min"),
    ]  # fmt: skip
    for name in ("one", "two"):
        events.write_log(tmp_path / name, log)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert list(events.read_log(tmp_path / "one")) == log
