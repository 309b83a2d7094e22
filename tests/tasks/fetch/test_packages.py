"""Datasets that come with scikit-learn are read from the cache, and are the same there."""

import sys

import pandas as pd
import pytest

from leaseboard.tasks.fetch import cache, packages
from leaseboard.tasks.fetch.loading import load


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", packages.BUNDLED)
def test_the_second_reading_is_the_first_one_without_scikit_learn(name, monkeypatch):
    first = load(f"sklearn:{name}")
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    second = load(f"sklearn:{name}")

    pd.testing.assert_frame_equal(first.features, second.features)
    pd.testing.assert_series_equal(first.target, second.target)
    for each in ("digest", "name", "task", "source", "licence"):
        assert getattr(first, each) == getattr(second, each)


def test_another_version_a_damaged_file_and_no_place_are_read_again(home, monkeypatch):
    first = load("sklearn:iris")
    (file,) = home.rglob(cache.DATA)
    file.write_bytes(file.read_bytes()[:-1])
    assert load("sklearn:iris").digest == first.digest
    cache.check(cache.find("sklearn", file.parent.name))

    monkeypatch.setattr(packages.metadata, "version", lambda _: "0")
    assert load("sklearn:iris").digest == first.digest
    assert len([*home.rglob(cache.DATA)]) == 2

    monkeypatch.setenv("LEASEBOARD_CACHE", "/proc/none")
    assert load("sklearn:iris").digest == first.digest
