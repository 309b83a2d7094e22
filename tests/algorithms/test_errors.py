"""Errors travel between processes unchanged."""

import pickle
import re

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.measures import DIRECTIONS


def test_one_of_a_setting_is_pickled():
    again = pickle.loads(pickle.dumps(SettingError(UsageError("b=0: too few"), "b")))

    assert (str(again), again.setting) == ("b=0: too few", "b")


def test_only_names_that_are_near_are_proposed():
    """Absurd ones mislead more than none; what a name contains is near."""
    names = [*registry.names(), *DIRECTIONS]

    def proposed(value):
        return re.findall(r"'([^']+)'", str(unknown("name", value, names)).partition("?")[0])[1:]

    for odd in ("nonsense", "promote", "racing", "learner", "tabels", "-v", ""):
        said = str(unknown("name", odd, names))
        assert said.startswith(f"unknown name {odd!r}; known: "), said
    assert proposed("auc") == ["ucb", "abc", "roc_auc"]
    assert proposed("forest") == ["forest-default"]
    assert proposed("rmze") == ["rmse"]
    assert str(unknown("arm", "tre", ["svm", "tree"])).endswith(
        ": did you mean 'tree'? Known: svm, tree"
    )
