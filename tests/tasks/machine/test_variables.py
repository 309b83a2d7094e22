"""What a variable was is what it is afterwards, whatever happened meanwhile."""

import os

import pytest

from leaseboard.tasks.machine.paths import variable_set


@pytest.mark.parametrize("before", [None, "old"])
def test_a_variable_is_another_only_meanwhile(monkeypatch, before):
    monkeypatch.delenv("LEASEBOARD_X", raising=False)
    if before:
        monkeypatch.setenv("LEASEBOARD_X", before)
    with pytest.raises(ZeroDivisionError), variable_set("LEASEBOARD_X", "2"):
        2 / (int(os.environ["LEASEBOARD_X"]) - 2)

    assert os.environ.get("LEASEBOARD_X") == before
