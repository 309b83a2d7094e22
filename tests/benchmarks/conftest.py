"""Fixtures of the tests of benchmarks, all of which are slow tests."""

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder, before those that are not wanted are deselected."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("slow")
