"""A data set sent to another machine is the same data set there."""

import numpy as np
import pandas as pd
import pytest

from algorithms.errors import DataError
from tasks.fetch import cache, load, parcels


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A function that goes to another machine: one with an empty cache."""
    return lambda: monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "elsewhere"))


def frames():
    rng = np.random.default_rng(0)
    base = pd.DataFrame({"whole": range(60), "real": rng.normal(size=60)})
    declared = pd.Categorical(rng.choice(["b", "a"], 60), categories=["c", "b", "a"])
    return {
        "numbers": base.assign(y=base["real"] * 2),
        "missing": base.assign(gap=base["real"].where(base["whole"] > 9), y=base["real"]),
        "nominal": base.assign(kind=declared, text=rng.choice(["u v", "ü"], 60), y=base["real"]),
        "classes": base.assign(flag=base["whole"] % 3 == 0, y=rng.choice(["yes", "no"], 60)),
    }


FRAMES = frames()


@pytest.mark.parametrize("name", FRAMES)
def test_a_worker_reads_what_was_sent(tmp_path, elsewhere, name):
    path = tmp_path / f"{name}.parquet"
    FRAMES[name].to_parquet(path)
    here = load(f"file:{path}?rows=50")
    parcel = parcels.pack(here)
    path.unlink()
    elsewhere()
    for _ in range(2):  # once is enough, twice does no harm
        parcels.unpack(here.digest, parcel)
    there = load(parcels.address(here.reference, here.digest))

    assert (there.digest, there.task, there.name) == (here.digest, here.task, here.name)
    assert there.source == here.source
    pd.testing.assert_series_equal(there.target, here.target)
    assert len(cache.entries(parcels.SECTION)) == 1


@pytest.mark.parametrize("reference", ["synthetic:fried?rows=50&seed=0", "sklearn:diabetes"])
def test_what_every_machine_has_is_not_sent(reference):
    data = load(reference)

    assert parcels.pack(data) is None
    assert load(parcels.address(reference, data.digest)).digest == data.digest


def test_a_parcel_damaged_on_the_way_is_an_error(tmp_path, elsewhere):
    path = tmp_path / "mine.csv"
    pd.DataFrame({"a": range(40), "y": np.arange(40) / 3}).to_csv(path, index=False)
    data = load(f"file:{path}")
    parcel = parcels.pack(data)
    elsewhere()
    parcels.unpack(data.digest, parcel | {cache.DATA: parcel[cache.DATA][:-9]})

    with pytest.raises(DataError, match="damaged"):
        load(data.digest)
