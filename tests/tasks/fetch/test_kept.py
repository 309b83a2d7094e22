"""Data that were kept for the jobs of a run are the same data in each of them."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import load
from leaseboard.tasks.fetch.dataset import digest_of
from leaseboard.tasks.fetch.kept import BYTES, fetch_into, hold, keep, open_dataset, parcel, unpack


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


FRAMES = frames()


def same(one, other):
    pd.testing.assert_frame_equal(one.features, other.features)
    pd.testing.assert_series_equal(one.target, other.target)
    for name in ("reference", "name", "task", "digest", "source", "licence"):
        assert getattr(one, name) == getattr(other, name)
    assert digest_of(other.features, other.target, other.task) == one.digest


@pytest.mark.parametrize("name", FRAMES)
def test_what_was_kept_is_the_same_in_every_value_and_type(tmp_path, name):
    data = hold(FRAMES[name], name, tmp_path).open()
    again = keep(data, tmp_path)

    assert data.reference == f"held:{name}"
    same(data, again.open())
    assert (again.rows, again.features) == data.features.shape


def test_every_source_is_kept_alike(tmp_path):
    for reference in ("synthetic:fried?rows=50&seed=0", "sklearn:iris?rows=120"):
        same(load(reference), fetch_into(tmp_path, reference).open())


def test_nobody_can_change_what_all_share(tmp_path):
    data = hold(FRAMES["numbers"], "n", tmp_path).open()
    for column in data.features:
        with pytest.raises(ValueError, match="read-only"):
            data.features[column].to_numpy()[0] = 1


def test_a_machine_that_was_sent_the_files_has_the_same_data(tmp_path):
    kept = hold(FRAMES["nominal"], "n", tmp_path)
    there = tmp_path / "elsewhere" / "deep"
    for _ in range(2):  # once is enough, twice does no harm
        unpack(parcel(kept.folder), there)

    same(kept.open(), open_dataset(there))


def test_a_parcel_that_was_damaged_on_the_way_is_an_error(tmp_path):
    sent = parcel(hold(FRAMES["numbers"], "n", tmp_path).folder)
    sent[BYTES] = sent[BYTES][:-9] + b"x" + sent[BYTES][-8:]

    with pytest.raises(DataError, match="damaged on the way"):
        unpack(sent, tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ({1: [1, 2, 3], "1": [4, 5, 6], "y": [0.5, 1.5, 2.5]}, "'1' occurs twice"),
        ({"x": [[1], [2], [3]], "y": [0.5, 1.5, 2.5]}, "not a table"),
        ({"x": [1, 2, 3], "y": [0.5, None, 2.5]}, "missing"),
    ],
)
def test_a_table_that_cannot_be_held_is_refused_in_one_line(tmp_path, frame, why):
    with pytest.raises(DataError, match=why):
        hold(pd.DataFrame(frame), "t", tmp_path)


def test_whole_numbers_of_any_size_have_digests_of_their_own(tmp_path):
    y = [0.5, 1.5]
    large = pd.DataFrame({"x": np.array([2**63, 2**63 + 1], dtype=np.uint64), "y": y})
    small = pd.DataFrame({"x": np.array([-(2**63), 1 - 2**63], dtype=np.int64), "y": y})

    assert hold(large, "a", tmp_path).digest != hold(small, "b", tmp_path).digest
