import pickle
import textwrap

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm, settings_of
from leaseboard.algorithms.errors import SettingError, UsageError, unknown

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
    environments = ("stream", "holdout", "pulls", "samples", "folds", "systems")
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
