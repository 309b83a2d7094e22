"""A target that float32 blurs is refused; others keep what learners can tell of them."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.benches.holdout import Options, as_holdout
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream, in_float32

FORMS = {
    "stream": lambda data: as_stream(data, StreamOptions(log_target=False)),
    "holdout": lambda data: as_holdout(data, Options(scale_target=False), 0),
}


@pytest.fixture
def timed(tmp_path):
    """A function that makes a regression with its target around a middle."""

    def make(middle, scale=1.0):
        random = np.random.default_rng(0)
        frame = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"])
        frame["y"] = middle + scale * random.normal(size=200)
        frame.to_csv(tmp_path / "t.csv", index=False)
        return fetch.load(f"{tmp_path / 't.csv'}?target=y&task=regression")

    return make


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("middle", [1.76e9, -3e7])
def test_a_timestamp_is_refused_in_one_line(timed, form, middle):
    with pytest.raises(DataError, match=r"t\.csv.*: the target's values lie around .*subtract"):
        FORMS[form](timed(middle))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("middle", [0, 2000, 1e4])
def test_what_float32_tells_apart_is_taken(timed, form, middle):
    FORMS[form](timed(middle))


@pytest.mark.parametrize("target", [[0.1], [0.1, 0.1], [0.1] * 3, [1.76e9 + 0.1] * 3])
def test_what_has_no_spread_is_no_matter(target):
    assert in_float32(np.array(target)).tolist() == np.float32(target).tolist()


@pytest.mark.parametrize("scale", [1e39, 1e200])
def test_a_file_beyond_float32_is_to_be_rescaled(timed, scale):
    with pytest.raises(DataError, match=r"beyond 3\.4e38\): drop those rows, or rescale"):
        timed(0, scale)


@pytest.mark.parametrize(
    ("target", "mend"),
    [
        ([0.0, 1e39], r"1e\+39, beyond .* rescale it"),
        ([-1e39, 0.0], r"-1e\+39, beyond .* rescale it"),
        ([-np.inf, 0.0], "-inf, beyond .* rescale it"),
        ([1e-50, 3e-50], "cannot tell them apart, rescale it"),
        ([1e-200, 3e-200], "cannot tell them apart, rescale it"),  # their deviation is 0
        ([1e30, 1.00000001e30], "cannot tell them apart, subtract a constant"),
        ([], "0 values: give at least one row"),
    ],
)
def test_the_mend_mends_what_is_wrong(target, mend):
    with pytest.raises(DataError, match=mend):
        in_float32(np.array(target))


@pytest.mark.parametrize("largest", [3.4e38, -3.4e38])
def test_the_whole_range_of_float32_is_taken(largest):
    assert in_float32(np.array([0, largest])).tolist() == np.float32([0, largest]).tolist()
