"""The cache has a folder, or a line that says how to name one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leaseboard.algorithms import caches
from leaseboard.algorithms.errors import UsageError


def test_a_user_without_a_home_gets_the_variable_to_set(monkeypatch):
    for name in ("LEASEBOARD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)  # as Python does without a home

    with pytest.raises(UsageError, match=r"^~/\.cache is nowhere.* set LEASEBOARD_CACHE to"):
        caches.cache_dir()
    monkeypatch.setenv("LEASEBOARD_CACHE", "/srv/cache")
    assert caches.cache_dir() == Path("/srv/cache")
