"""Named datasets, the listing and the cache."""

from __future__ import annotations

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch import cache, loading
from leaseboard.tasks.fetch.inventory import catalogue
from leaseboard.tasks.fetch.loading import load


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def conf(monkeypatch, tmp_path):
    """Return an empty configuration folder of the user."""
    for folder in ("suites", "data"):
        (tmp_path / "conf" / folder).mkdir(parents=True)
    monkeypatch.setenv("LEASEBOARD_CONF", str(tmp_path / "conf"))
    return tmp_path / "conf" / "data"


@pytest.fixture
def sales(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("revenue,shop,size\n1.5,a,3\n2.5,b,4\n4.5,a,5\n")
    return path


def test_every_shipped_name_is_a_right_reference():
    for name in loading.names():
        assert loading.resolve(loading.references.parse(name)).source in ("mirror", "synthetic")
        assert loading.read_named(name).about


def test_four_lines_name_a_dataset(conf, sales):
    (conf / "shops.yaml").write_text(
        f"reference: file:{sales}\nabout: our shops\ntarget: revenue\ntask: regression\n"
    )

    data = load("shops?first_rows=2")

    assert (data.task, data.target.tolist(), list(data.features)) == (
        "regression", [1.5, 2.5], ["shop", "size"],
    )  # fmt: skip
    assert "shops" in [listed.reference for listed in catalogue()]


def test_a_relative_file_lies_next_to_its_name(conf, sales):
    sales.rename(conf / "sales.csv")
    (conf / "shops.yaml").write_text("reference: file:sales.csv\n")

    assert load("shops").target.tolist() == ["3", "4", "5"]


def test_a_wrong_file_of_conf_data_is_one_clear_line(conf):
    for text, message in (
        ("reference: openml:1\ntargt: y\n", "unknown key 'targt': did you mean 'target'"),
        ("about: nothing\n", "reference is required"),
        ("reference: openml:1\ntask: guess\n", "task: unknown value 'guess'"),
        ("reference: openml:1\nrows: many\n", "rows must be a whole number"),
        ("just text\n", "a YAML mapping is expected"),
        ("a: [1\n", "bad.yaml:2: "),
        ("reference: other\n", "reference 'other' has no source"),
    ):
        (conf / "bad.yaml").write_text(text)

        with pytest.raises(UsageError, match=message) as caught:
            load("bad")
        assert "bad.yaml" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_first_of_two_processes_publishes():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    for number in (1, 2):
        with cache.scratch("openml") as folder:
            (folder / "new").mkdir()
            cache.write(folder / "new", frame * number, id="7", name=f"process {number}")
            assert cache.publish(folder / "new", "openml", "7").name == "process 1"
    assert [path.name for path in cache.section("openml").iterdir()] == ["7"]


def test_a_damaged_entry_or_file_of_the_cache_is_named():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    with cache.scratch("openml") as folder:
        (folder / "new").mkdir()
        cache.write(folder / "new", frame, id="7", name="seven")
        entry = cache.publish(folder / "new", "openml", "7")
    place = entry.path.parent
    (2 * frame).to_parquet(entry.path)
    with pytest.raises(DataError, match="is not the catalogue's"):
        cache.table_of(entry)
    (place / "entry.json").write_text("{}")
    with pytest.raises(DataError, match=r"entry\.json: not an entry of the cache"):
        cache.read_entry(place)


def test_a_cache_that_cannot_be_written_is_named(sales, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(sales))

    with pytest.raises(UsageError, match=r"cannot be written .*: name another folder with LEASE"):
        cache.scratch("openml").__enter__()


@pytest.mark.mirror
def test_a_mirror_is_listed(mirror):
    listed = {entry.reference: entry for entry in catalogue(mirrors=(mirror,))}
    assert "40768 x" in listed["openml:215"].summary
