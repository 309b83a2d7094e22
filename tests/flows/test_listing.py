"""What can be set of an algorithm, in words."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.flows.commands.listing import _settings


@pytest.mark.parametrize("name", registry.names())
def test_every_setting_of_every_algorithm_has_its_default_and_values(name):
    rows = _settings(name)

    assert [row[0] for row in rows] == list(settings_of(registry.build(name)))
    assert all(default and values for _, default, values in rows)
