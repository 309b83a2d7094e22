"""Datasets of plugins: each is made by its plugin in the sandbox, once a content."""

import pandas as pd

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import DataError, UserFileError, unknown
from leaseboard.algorithms.plugins import Plugin
from leaseboard.tasks.fetch import cache, files
from leaseboard.tasks.fetch.dataset import RawTable

SOURCE = "plugin"
"""Source of a reference, and section of the cache."""


def named(name: str) -> Plugin:
    """Return the plugin with the dataset `name`; UsageError with the nearest name without one."""
    if found := plugins.find("datasets", name):
        return found
    known = plugins.names("datasets")
    raise unknown("dataset of plugins", name, known, "leaseboard data list")


def read(name: str) -> RawTable:
    """Return the dataset `name`, from the cache if this content of the plugin has made it."""
    plugin = named(name)
    key = plugin.digest()
    entry = cache.find(SOURCE, key)
    if entry is None:
        with cache.scratch(SOURCE) as folder:
            cache.write(folder, make(plugin), id=key, name=name, source=plugin.source)
            entry = cache.publish(folder, SOURCE, key)
    return cache.table_of(entry)


def make(plugin: Plugin) -> pd.DataFrame:
    """Return the frame that the plugin makes now; DataError, in one line, if it does not."""
    from leaseboard.tasks.jobs import sandbox  # of plugins alone, see docs/architecture.md

    with cache.scratch(SOURCE) as folder:
        path = folder / cache.DATA
        try:
            function = f"{__name__}:write"
            sandbox.ask(function, plugin.file, plugin.name, str(path), follow=False)
        except UserFileError as error:
            raise DataError(f"dataset {plugin.name!r} of {plugin.source}: {error}") from error
        return files.read_parquet(path)


def write(name: str, path: str) -> None:
    """Make the dataset `name` in this process, which is the sandbox, and write it to `path`."""
    made = named(name).load()()
    if not isinstance(made, pd.DataFrame):
        raise UserFileError(f"it returns a {type(made).__name__}: return a pandas DataFrame")
    made.to_parquet(path, index=False)
