"""What can be set of an algorithm, in words."""

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.flows.commands.listing import _settings


def test_every_setting_of_every_algorithm_has_its_default_and_values():
    rows = {name: _settings(name) for name in registry.names()}
    found = {name: [row[0] for row in settings] for name, settings in rows.items()}
    bare = [name for name, each in rows.items() if not all(all(row) for row in each)]

    assert found == {name: list(settings_of(registry.build(name))) for name in rows}
    assert bare == []
