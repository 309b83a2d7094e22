"""Datasets of plugins."""

import pandas as pd

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import DataError, unknown
from leaseboard.algorithms.plugins import Plugin
from leaseboard.tasks.fetch.dataset import RawTable

SOURCE = "plugin"
"""Source of a reference."""


def named(name: str) -> Plugin:
    """Return the plugin with the dataset `name`; UsageError with the nearest name without one."""
    if found := plugins.find("datasets", name):
        return found
    known = plugins.names("datasets")
    raise unknown("dataset of plugins", name, known, "leaseboard data list")


def read(name: str) -> RawTable:
    """Return the dataset `name`, which its plugin makes."""
    plugin = named(name)
    made = plugin.call()
    if not isinstance(made, pd.DataFrame):
        raise DataError(
            f"dataset {name!r} of {plugin.source}: it returns a {type(made).__name__}: return a"
            " pandas DataFrame"
        )
    return RawTable(made, name, source=plugin.source)
