"""Gaps in a stream's columns: filled by the rows before, in the order in which they came."""

import json

import numpy as np
import pandas as pd
import pytest

from algorithms.benches.stream import Origin
from tasks.fetch.dataset import RawTable, finish
from tasks.fetch.references import Reference
from tasks.preprocess.stream_encoder import WORDS, StreamEncoder
from tasks.preprocess.streaming import StreamOptions, as_stream

ROWS = pd.DataFrame(
    {
        "x": [1.0, None, 3.0, None],
        "whole": [5, 6, 7, 8],
        "c": pd.Categorical(["u", "v", None, "u"]),
        "empty": [np.nan] * 4,
        "t": pd.to_datetime(["2024-01-01 05:00", None, "2024-01-03 06:00", "2024-02-03 06:00"]),
    }
)


def stream(options=None, **columns):
    frame = pd.DataFrame({**columns, "y": np.arange(len(next(iter(columns.values())))) / 2})
    return as_stream(
        finish(RawTable(frame, "t"), Reference("file", "t.csv", {"task": "regression"}), "t.csv"),
        options,
    )


def test_a_gap_has_what_the_rows_before_let_expect():
    found = stream(x=[1.0, 3.0, None, None, 100.0], c=["u", "v", None, "u", "v"])

    assert found.features[:, 0].tolist() == [1, 3, 2, 2, 100]
    assert found.features[:, 1].tolist() == [0, 1, 0.5, 0, 1]
    assert found.names == ("x", "c")


def test_a_stream_without_gaps_is_what_it_is_with_any_option():
    whole = {"x": [1.0, 3.0, 2.0], "c": ["u", "v", "u"]}
    found = [stream(StreamOptions(missing=m), **whole) for m in ("fill", "indicate", "zero",
                                                                   "refuse")]  # fmt: skip
    for other in found[1:]:
        assert other.features.tobytes() == found[0].features.tobytes()
        assert other.namespaces == found[0].namespaces


def test_an_indicator_for_each_column_with_gaps_is_a_namespace_of_its_own():
    found = stream(
        StreamOptions(missing="indicate"),
        a=[1.0, None, 2.0],
        b=[1.0, 2.0, 3.0],
        c=["u", "v", None],
    )

    assert found.names == ("a", "b", "c", "a is missing", "c is missing")
    assert found.features[:, 3:].tolist() == [[0, 0], [1, 0], [0, 1]]
    assert found.namespaces[-1].name == "missing"
    assert found.origins[2:] == (Origin("c"), Origin("a", "missing"), Origin("c", "missing"))
    assert (found.namespaces[-1].start, found.namespaces[-1].stop) == (3, 5)


def test_few_columns_with_gaps_have_indicators_and_those_missing_together_one():
    whole = {name: [1.0, 2.0, 3.0] for name in "abcdef"}
    gaps = {"g": [1.0, None, 3.0], "h": [None, 2.0, 3.0], "i": [1.0, None, 3.0]}

    assert stream(**whole, **gaps).names[9:] == ("g is missing", "h is missing")
    assert stream(**whole, **gaps).features[:, 9:].tolist() == [[0, 1], [1, 0], [0, 0]]
    assert len(stream(a=whole["a"], b=whole["b"], **gaps).names) == 5  # two of five are not few
    every = StreamOptions(missing="indicate")
    assert len(stream(every, a=whole["a"], b=whole["b"], **gaps).names) == 7


def test_a_column_named_like_an_indicator_stands_for_it():
    gaps = {"a": [1.0, None, 3.0], "b": [None, 2.0, 3.0], "a is missing": [0.0, 5.0, 0.0]}
    found = stream(StreamOptions(missing="indicate"), **gaps)

    assert found.names == ("a", "b", "a is missing", "b is missing")
    assert found.features[:, 2:].tolist() == [[0, 1], [5, 0], [0, 0]]
    assert found.namespaces[-1].stop - found.namespaces[-1].start == 1


def test_later_rows_change_nothing_of_earlier_ones():
    whole = StreamEncoder().fit_transform(ROWS)
    names = dict(zip(StreamEncoder().fit(ROWS).names_, whole.T.tolist(), strict=True))
    changed = ROWS.assign(x=[1.0, None, -50.0, 9.0])

    assert StreamEncoder().fit_transform(changed)[:2].tolist() == whole[:2].tolist()
    assert names["empty"] == [0, 0, 0, 0]
    assert names["t days"][:2] == [0, 0]


@pytest.mark.parametrize("missing", ["fill", "indicate", "zero"])
def test_state_that_was_saved_gives_the_same_features(missing):
    encoder = StreamEncoder(missing=missing).fit(ROWS)
    state = json.loads(json.dumps(encoder.state()))
    other = StreamEncoder(missing=missing).restore(state)
    rows = pd.DataFrame(
        {
            "x": [None, 2.0],
            "whole": [np.nan, 1.0],  # never missing before
            "c": pd.Categorical([None, "u"], categories=["u", "v"]),
            "empty": [1.0, np.nan],
            "t": pd.to_datetime([None, "2030-07-07 23:00"]),
        }
    )
    found = encoder.transform(rows)

    assert np.isfinite(found).all()
    assert other.transform(rows).tobytes() == found.tobytes()
    assert other.namespaces() == encoder.namespaces()
    assert found.shape[1] == len(encoder.names_) == encoder.namespaces()[-1].stop
    if missing != "zero":  # whole numbers that grow by one: between their mean and the last
        assert 6.5 < found[0, encoder.names_.index("whole")] <= 8


def test_a_row_is_served_as_the_one_that_comes_next():
    rows = pd.DataFrame({"x": [1.0, None, 3.0, 2.5, 2.0, None]})

    served = StreamEncoder().fit(rows.iloc[:5]).transform(rows.iloc[5:])
    assert served[0, 0] == StreamEncoder().fit_transform(rows)[5, 0]
    followed = StreamEncoder().fit(rows).follow(rows.iloc[:5])
    assert followed.transform(rows.iloc[5:])[0, 0] == served[0, 0]


def test_free_text_is_its_words_hashed():
    texts = ["a cat sat " * 40, "a cat sat", None, "dog"]
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "text": pd.Series(texts, dtype=object)})
    encoder = StreamEncoder().fit(rows)
    found = encoder.fit_transform(rows)

    assert found.shape == (4, 1 + WORDS)
    assert encoder.names_[:2] == ["x", "text #0"]
    assert encoder.origins() == (Origin("x"), *[Origin("text", "words")] * WORDS)
    assert found[0, 1:] == pytest.approx(found[1, 1:])  # as often as the others
    assert np.linalg.norm(found[:, 1:], axis=1) == pytest.approx([1, 1, 0, 1])
    state = json.loads(json.dumps(encoder.state()))
    later = pd.DataFrame({"x": [1.0], "text": ["sat, cat"]})
    assert StreamEncoder().restore(state).transform(later)[0, 1:] == pytest.approx(found[0, 1:])
