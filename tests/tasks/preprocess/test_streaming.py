"""Streams made of datasets: the rules of ChaCha's authors, and what a stream cannot take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.environments.stream import MOST_CLASSES
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.fetch.dataset import RawTable, finish
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.jobs.environments.holdout import Options, as_holdout
from leaseboard.tasks.preprocess.streaming import (
    StreamOptions,
    as_stream,
    in_float32,
    log_target,
    needs_log,
)


def dataset(frame: pd.DataFrame, **options: str):
    return finish(RawTable(frame, "test"), Reference("file", "test.csv", options), "file:test.csv")


def small(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], **columns, "y": [0.5, 1.5, -2.5]})


def test_namespaces_hold_the_ceiling_of_a_tenth_of_the_columns():
    for n_features, sizes in (
        (1, [1]),
        (9, [1] * 9),
        (10, [1] * 10),
        (11, [2] * 5 + [1]),
        (48, [5] * 9 + [3]),
    ):
        frame = pd.DataFrame({f"x{place}": [0.0, 1.0] for place in range(n_features)})
        spaces = as_stream(dataset(frame.assign(y=[0.5, 1.5]))).namespaces

        assert [space.stop - space.start for space in spaces] == sizes
        assert spaces[-1].stop == n_features
        assert [space.name for space in spaces] == list("abcdefghij"[: len(sizes)])


def test_the_log_rule_of_the_authors_code():
    for low, high, code in ((0, 99, False), (0, 100, True), (-60, 50, True), (1, 101, True)):
        target = np.array([low, high], dtype=np.float64)

        assert needs_log(target, "code") is code
        assert needs_log(target, rule=True) is True
        assert needs_log(target, rule=False) is False


def test_the_log_shifts_only_targets_that_are_not_positive():
    assert log_target(np.array([1.0, np.e])).tolist() == [0.0, 1.0]
    assert log_target(np.array([0.0, np.e - 1])).tolist() == [0.0, 1.0]


def test_nominal_columns_become_codes_in_the_declared_order():
    nominal = pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"])

    codes = as_stream(dataset(small(n=nominal)), StreamOptions(encoding="codes"))

    assert codes.features[:, 1].tolist() == [0.0, 2.0, 0.0]
    assert codes.names == ("0", "1")  # by which the authors' text files name columns
    assert [origin.column for origin in codes.origins] == ["a", "n"]
    one_hot = as_stream(dataset(small(n=nominal)))
    assert one_hot.names == ("a", "n=low", "n=high")
    assert one_hot.features[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert one_hot.births == (0, 0, 1)


def test_values_are_rounded_as_the_authors_write_them():
    frame = small(b=[1.23456749, 1e-7, 2.0])

    rounded = as_stream(dataset(frame), StreamOptions(decimals=6))
    assert rounded.features[:, 1].tolist() == [np.float32(1.234567), 0.0, 2.0]
    exact = as_stream(dataset(frame))
    assert exact.features[1, 1] == np.float32(1e-7)


def test_the_log_is_decided_on_the_whole_set_though_the_stream_is_cut():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 1000.5]})

    stream = as_stream(dataset(frame), StreamOptions(max_rows=2, log_target="code"))

    assert stream.labels.tolist() == [0.0, np.float32(np.log(2))]


def test_two_classes_become_minus_one_and_one():
    stream = as_stream(dataset(small(), threshold="0.5"))

    assert stream.task == "classification"
    assert stream.labels.tolist() == [1.0, 1.0, -1.0]


def test_a_shuffle_permutes_rows_by_the_seed_before_the_cut():
    data = load("synthetic:fried?rows=1000")
    options = StreamOptions(shuffle=True, max_rows=100)

    first, again, other = (as_stream(data, options, seed) for seed in (1, 1, 2))

    assert np.array_equal(first.features, again.features)
    assert not np.array_equal(first.features, other.features)
    assert first.features.shape == (100, 10)
    everything = {tuple(row) for row in as_stream(data).features.tolist()}
    assert {tuple(row) for row in first.features.tolist()} <= everything


def test_a_stream_refuses_what_it_cannot_take():
    for column, message in (
        ([1.0, np.inf, 2.0], "inf in row 2"),
        ([1.0, 1e39, 2.0], "1e.39 in row 2"),
    ):
        with pytest.raises(DataError, match=rf"^file:test.csv: column 'bad'.*{message}"):
            as_stream(dataset(small(bad=column)))


def test_missing_values_are_zeros_where_that_is_asked_for():
    data = dataset(small(b=[1.0, np.nan, 2.0], c=["u", "v", None]))

    stream = as_stream(data, StreamOptions(missing="zero", encoding="codes"))

    assert stream.features[:, 1:].tolist() == [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]


def of_classes(values, **options):
    frame = pd.DataFrame({"a": np.arange(len(values), dtype=float), "y": values})
    data = finish(RawTable(frame, "x"), Reference("file", "x.csv"), "file:x.csv")
    return as_stream(data, StreamOptions(**options))


def test_more_than_two_classes_are_numbered_in_the_order_in_which_they_come():
    stream = of_classes(["w", "u", "w", "v", "u"])

    assert stream.task == "classification"
    assert stream.classes == ("w", "u", "v")
    assert stream.labels.tolist() == [0, 1, 0, 2, 1]


def test_classes_that_do_not_come_have_no_number():
    cut = of_classes(["w", "u", "w", "z", "v", "u"], max_rows=4)
    shuffled = of_classes(["w", "u", "w", "v", "u"], shuffle=True)

    assert (cut.classes, cut.labels.tolist()) == (("w", "u", "z"), [0, 1, 0, 2])
    assert shuffled.labels[0] == 0
    named = [shuffled.classes[int(number)] for number in shuffled.labels]
    assert sorted(zip(shuffled.features[:, 0], named, strict=True)) == [
        (0, "w"), (1, "u"), (2, "w"), (3, "v"), (4, "u")
    ]  # fmt: skip


def test_two_classes_that_come_of_three_are_minus_one_and_one():
    cut = of_classes(["w", "u", "w", "v", "u"], max_rows=3)

    assert (cut.classes, cut.labels.tolist()) == ((), [1, -1, 1])


def test_one_class_that_comes_of_three_is_refused_and_of_two_is_labelled():
    with pytest.raises(DataError, match=r"'w' in all 2 rows that come, of 3.*max_rows"):
        of_classes(["w", "w", "u", "v"], max_rows=2)

    assert of_classes(["w", "w", "u"], max_rows=2).labels.tolist() == [1, 1]


def test_too_many_classes_are_answered_with_what_helps():
    for name, fix in (("{}", "task=regression, or two classes with threshold="),
     ("c{}", "name another column with target=")):  # fmt: skip
        values = pd.Categorical([name.format(number) for number in range(MOST_CLASSES + 1)])
        expected = f"target 'y' has 1001 classes.*2 to 1000 classes; .*{fix}"
        with pytest.raises(DataError, match=expected):
            of_classes(values)


FORMS = {
    "stream": as_stream,
    "holdout": lambda data: as_holdout(data, Options(scale_target=False), 0),
}


@pytest.fixture
def timed(tmp_path):
    """Return a function that makes a regression with its target around a middle."""

    def make(middle, scale=1.0):
        random = np.random.default_rng(0)
        frame = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"])
        frame["y"] = middle + scale * random.normal(size=200)
        frame.to_csv(tmp_path / "t.csv", index=False)
        return loading.load(f"{tmp_path / 't.csv'}?target=y&task=regression")

    return make


def test_only_what_float32_distinguishes_is_taken(timed):
    for form in FORMS.values():
        for middle in (1.76e9, -3e7):
            with pytest.raises(
                DataError, match=r"t\.csv.*: the target's values lie around .*subtr"
            ):
                form(timed(middle))
        for middle in (0, 2000, 1e4):
            form(timed(middle))
    for scale in (1e39, 1e200):
        with pytest.raises(DataError, match=r"finite in 32 bits: drop those rows, or rescale"):
            timed(0, scale)


def test_targets_without_a_spread_and_the_whole_range_of_float32_are_taken():
    for target in ([0.1], [0.1, 0.1], [0.1] * 3, [1.76e9 + 0.1] * 3, [0, 3.4e38], [0, -3.4e38]):
        assert in_float32(np.array(target)).tolist() == np.float32(target).tolist()


def test_a_target_beyond_float32_is_named_with_the_fix():
    for target, fix in (
        ([0.0, 1e39], r"1e\+39, beyond .* rescale it"),
        ([-1e39, 0.0], r"-1e\+39, beyond .* rescale it"),
        ([-np.inf, 0.0], "-inf, beyond .* rescale it"),
        ([1e-50, 3e-50], "cannot distinguish them, rescale it"),
        ([1e-200, 3e-200], "cannot distinguish them, rescale it"),  # their deviation is 0
        ([1e30, 1.00000001e30], "cannot distinguish them, subtract a constant"),
        ([], "0 values: give at least one row"),
    ):
        with pytest.raises(DataError, match=fix):
            in_float32(np.array(target))
