"""The cache has a folder, or a line that says how to name one."""

from __future__ import annotations

import os
import tempfile

import pytest

from leaseboard.algorithms import caches


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    """Return the folder for temporary files of a user without a home."""
    for name in ("LEASEBOARD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)  # as Python does without a home
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_cache_of_a_user_without_a_home_is_private(temporary):
    place = caches.cache_dir()
    assert place == caches.cache_dir() == temporary / f"leaseboard-{os.getuid()}"
    assert place.stat().st_mode & 0o777 == 0o700
