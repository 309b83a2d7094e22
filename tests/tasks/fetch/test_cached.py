"""A cached dataset is the same data in each job of a run."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.cached import (
    cache_dataset,
    fetch_into,
    hold,
    load_mapped,
    parcel,
    unpack,
)
from leaseboard.tasks.fetch.dataset import digest_of
from leaseboard.tasks.fetch.loading import load


def frames():
    rng = np.random.default_rng(0)
    base = pd.DataFrame({"whole": range(60), "real": rng.normal(size=60)})
    declared = pd.Categorical(rng.choice(["b", "a"], 60), categories=["c", "b", "a"])
    words = ["long " * 60 + str(i) if i % 7 else None for i in range(60)]
    return {
        "numbers": base.assign(y=base["real"] * 2),
        "narrow": base.astype({"whole": "int8", "real": "float32"}).assign(y=base["real"]),
        "missing": base.assign(gap=base["real"].where(base["whole"] > 9), y=base["real"]),
        "nominal": base.assign(kind=declared, text=rng.choice(["u v", "ü"], 60), y=base["real"]),
        "text": base.assign(words=words, odd=["ü" * 300] * 60, y=base["real"]),
        "classes": base.assign(flag=base["whole"] % 3 == 0, y=rng.choice(["yes", "no"], 60)),
    }


def same(one, other):
    pd.testing.assert_frame_equal(one.features, other.features)
    pd.testing.assert_series_equal(one.target, other.target)
    for name in ("reference", "name", "task", "digest", "source", "licence"):
        assert getattr(one, name) == getattr(other, name)
    assert digest_of(other.features, other.target, other.task) == one.digest


def test_a_cached_dataset_is_the_same_in_every_value_and_type(tmp_path):
    for name, frame in frames().items():
        data = hold(frame, name, tmp_path).open()
        again = cache_dataset(data, tmp_path)

        assert data.reference == f"held:{name}"
        same(data, again.open())
        assert (again.rows, again.features) == data.features.shape


def test_every_source_is_cached_alike(tmp_path):
    for reference in ("synthetic:fried?rows=50&seed=0", "sklearn:iris?rows=120"):
        same(load(reference), fetch_into(tmp_path, reference).open())


def test_no_job_can_change_what_all_share(tmp_path):
    strided = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc"))
    for name, frame in (("n", frames()["numbers"]), ("s", strided)):
        data = hold(frame, name, tmp_path).open()
        for column in data.features:
            values = data.features[column].array._ndarray  # to_numpy is read-only anyway
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_a_machine_that_was_sent_the_files_has_the_same_data(tmp_path):
    held = hold(frames()["nominal"], "n", tmp_path)
    there = tmp_path / "elsewhere" / "deep"
    for _ in range(2):  # once is enough, twice does no harm
        unpack(parcel(held.folder), there)

    same(held.open(), load_mapped(there))


def test_a_parcel_that_was_damaged_on_the_way_is_an_error(tmp_path):
    sent = parcel(hold(frames()["numbers"], "n", tmp_path).folder)
    sent = sent._replace(content=sent.content[:-9] + b"x" + sent.content[-8:])

    with pytest.raises(DataError, match="damaged on the way"):
        unpack(sent, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_table_that_cannot_be_held_is_refused_in_one_line(tmp_path):
    for frame, why in (
        ({1: [1, 2, 3], "1": [4, 5, 6], "y": [0.5, 1.5, 2.5]}, "'1' occurs twice"),
        ({"x": [[1], [2], [3]], "y": [0.5, 1.5, 2.5]}, "not a table"),
        ({"x": [1, 2, 3], "y": [0.5, None, 2.5]}, "missing"),
    ):
        with pytest.raises(DataError, match=why):
            hold(pd.DataFrame(frame), "t", tmp_path)


def test_whole_numbers_of_any_size_have_digests_of_their_own(tmp_path):
    y = [0.5, 1.5]
    large = pd.DataFrame({"x": np.array([2**63, 2**63 + 1], dtype=np.uint64), "y": y})
    small = pd.DataFrame({"x": np.array([-(2**63), 1 - 2**63], dtype=np.int64), "y": y})

    assert hold(large, "a", tmp_path).digest != hold(small, "b", tmp_path).digest
