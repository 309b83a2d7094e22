"""The checks that every algorithm passes; add tests of what yours promises."""

import pytest
from my_plugin.algorithm import MyPlugin

from leaseboard.algorithms.checks import checks


@pytest.mark.parametrize("name", checks())
def test_check(name: str) -> None:
    """Run one check over the algorithm."""
    checks()[name](MyPlugin())
