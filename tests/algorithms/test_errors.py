"""Errors travel between processes as they are."""

import pickle

from leaseboard.algorithms.errors import SettingError, UsageError


def test_one_of_a_setting_is_pickled():
    again = pickle.loads(pickle.dumps(SettingError(UsageError("b=0: too few"), "b")))

    assert (str(again), again.setting) == ("b=0: too few", "b")
