"""The cache has a folder, or a line that says how to name one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from leaseboard.algorithms import caches
from leaseboard.algorithms.errors import UsageError


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


def test_a_folder_of_another_user_is_not_taken(temporary, monkeypatch):
    (temporary / "other").mkdir()
    (temporary / f"leaseboard-{os.getuid()}").symlink_to("other")
    with pytest.raises(UsageError, match=r"is of another user: set LEASEBOARD_CACHE to a folder"):
        caches.cache_dir()
    monkeypatch.setenv("LEASEBOARD_CACHE", "/srv/cache")
    assert caches.cache_dir() == Path("/srv/cache")
