"""Mirrors: found before the network, digests checked, order kept."""

from __future__ import annotations

import os

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, DataUnavailableError, UsageError
from leaseboard.tasks.fetch.dataset import file_digest
from leaseboard.tasks.fetch.loading import load

HEADER = "id,name,task,rows,features,target,sha256,licence\n"


@pytest.fixture
def small(tmp_path):
    """Return a mirror with one regression set whose target is not the last column."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    frame = pd.DataFrame({"y": [3.5, 1.5, 2.0], "b": [1, 2, 3], "a": [0.5, 0.25, 0.125]})
    frame.to_parquet(folder / "77.parquet")
    digest = file_digest(folder / "77.parquet")
    line = f"77,tiny,regression (a note),3,2,y,{digest},CC0\n"
    (folder / "catalogue.csv").write_text(HEADER + line)
    return folder


def test_a_mirror_serves_its_sets_in_order_also_from_the_environment(small, tmp_path, monkeypatch):
    for reference in ("openml:77", "mirror:77"):
        data = load(reference, mirrors=(small,))

        assert (data.name, data.task, data.licence) == ("tiny", "regression", "CC0")
        assert list(data.features) == ["b", "a"]
        assert data.target.tolist() == [3.5, 1.5, 2.0]
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "catalogue.csv").write_text(HEADER)
    monkeypatch.setenv("LEASEBOARD_MIRROR", f"{tmp_path / 'first'}{os.pathsep}{small}")
    assert load("mirror:77").name == "tiny"


def test_a_named_mirror_wins_over_the_environment(small, tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_MIRROR", str(small))
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "catalogue.csv").write_text(HEADER)

    with pytest.raises(DataUnavailableError, match="77"):
        load("mirror:77", mirrors=(tmp_path / "named",))


def test_a_damaged_or_missing_file_is_an_error(small):
    path = small / "77.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"77\.parquet: sha256 .* is not the catalogue's"):
        load("openml:77", mirrors=(small,))
    path.unlink()
    with pytest.raises(DataError, match=r"in the catalogue, but the file is missing"):
        load("mirror:77", mirrors=(small,))


def test_what_no_mirror_has_is_named_with_the_fix(small, tmp_path):
    with pytest.raises(DataUnavailableError, match="did you mean '77'"):
        load("mirror:777", mirrors=(small,))
    with pytest.raises(DataUnavailableError, match="no mirror is set, name one with --mirror"):
        load("mirror:flights_3m")
    with pytest.raises(UsageError, match=r"has no catalogue\.csv"):
        load("mirror:77", mirrors=(tmp_path,))


def test_a_bad_catalogue_is_named(tmp_path):
    for catalogue, message in (
        ("id,name\n", "column 'features' is missing"),
        (HEADER + "../77,n,regression,3,2,y,00,CC0\n", "must be a plain file name"),
        (HEADER + "77,n,regression,many,2,y,00,CC0\n", "77: invalid literal"),
    ):
        (tmp_path / "catalogue.csv").write_text(catalogue)

        with pytest.raises(DataError, match=message):
            load("mirror:77", mirrors=(tmp_path,))


@pytest.mark.mirror
def test_every_real_set_is_as_the_catalogue_says(mirror):
    catalogue = pd.read_csv(mirror / "catalogue.csv", dtype=str).set_index("id")
    for name, row in catalogue.iterrows():
        if int(row["rows"]) > 100_000:  # one large set is read by another test
            continue
        if name == "base_autoHorse":
            with pytest.raises(DataError, match=r"is missing \(NaN\) in 2 of 205 rows"):
                load(f"mirror:{name}", mirrors=(mirror,))
            continue
        data = load(f"mirror:{name}", mirrors=(mirror,))
        assert (len(data.target), data.target.name) == (int(row["rows"]), row["target"]), name
        assert data.features.shape[1] == int(row["features"]), name
        assert data.task == row["task"].split()[0], name


@pytest.mark.mirror
def test_three_million_rows_stay_near_the_size_of_their_arrays(mirror):
    data = load("mirror:flights_3m?threshold=15", mirrors=(mirror,))

    assert data.features.shape == (3_000_000, 8)
    assert data.target.cat.categories.tolist() == ["<15", ">=15"]
    assert round((data.target == ">=15").mean(), 3) == 0.209
    assert data.features.memory_usage(index=False).sum() < 50e6
