"""Gaps in a stream's columns: filled by the rows before, in the order in which they came."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.features import FeatureMap
from leaseboard.tasks.fetch.columns import tidy_frame
from leaseboard.tasks.fetch.dataset import RawTable, finish
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.preprocess.stream_encoder import StreamEncoder
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream

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

    assert found.names == ("c=u", "x", "c=v")
    assert found.features[:, 1].tolist() == [1, 3, 2, 2, 100]
    assert found.features[:, ::2].tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    assert found.births == (0, 0, 1)


def test_a_flag_with_gaps_is_a_number_however_it_is_written():
    found = stream(a=[True, None, False], b=["true", "FALSE", None], c=["yes", "no", "yes"])

    assert found.names[:3] == ("a", "b", "c=yes")
    assert "c=no" in found.names
    assert found.features[:, :2].tolist() == [[1, 1], [1, 0], [0, 0.5]]


def test_a_stream_without_gaps_is_what_it_is_with_any_option():
    whole = {"x": [1.0, 3.0, 2.0], "c": ["u", "v", "u"]}
    found = [stream(StreamOptions(missing=m), **whole) for m in ("fill", "zero")]
    for other in found[1:]:
        assert other.features.tobytes() == found[0].features.tobytes()
        assert other.namespaces == found[0].namespaces


def test_later_rows_change_nothing_of_earlier_ones():
    whole = StreamEncoder().fit_transform(ROWS)
    changed = ROWS.assign(x=[1.0, None, -50.0, 9.0], c=["u", "v", "new", "newer"])
    other = StreamEncoder().fit_transform(changed)

    assert other[:2, : whole.shape[1]].tolist() == whole[:2].tolist()
    assert not other[:2, whole.shape[1] :].any()


@pytest.mark.parametrize("missing", ["fill", "zero"])
def test_state_that_was_saved_gives_the_same_features(missing):
    encoder = StreamEncoder(missing=missing).fit(ROWS)
    state = json.loads(json.dumps(encoder.state()))
    other = StreamEncoder(missing=missing).restore(state)
    rows = pd.DataFrame(
        {
            "x": [None, 2.0],
            "whole": [np.nan, 1.0],  # never missing before
            "c": pd.Categorical([None, "u"], categories=["u", "v"]),
            "empty": [1.0, np.nan],  # never there before: no feature
            "t": pd.to_datetime([None, "2030-07-07 23:00"]),
        }
    )
    found = encoder.transform(rows)

    assert np.isfinite(found).all()
    assert other.transform(rows).tobytes() == found.tobytes()
    assert other.namespaces() == encoder.namespaces()
    assert found.shape[1] == len(encoder.names()) == encoder.namespaces()[-1].stop
    if missing != "zero":  # whole numbers that grow by one: between their mean and the last
        assert 6.5 < found[0, encoder.names().index("whole")] <= 8


def test_a_row_is_served_as_the_one_that_comes_next():
    rows = pd.DataFrame({"x": [1.0, None, 3.0, 2.5, 2.0, None]})

    served = StreamEncoder().fit(rows.iloc[:5]).transform(rows.iloc[5:])
    assert served[0, 0] == StreamEncoder().fit_transform(rows)[5, 0]


LONG = "Owls eat mice at night. " * 20
KINDS = {
    "missing": [None, None, None],
    "number": [1.5, None, 2],
    "decimal": [Decimal("1.5"), Decimal("-2"), None],
    "flag": [True, None, False],
    "date": [dt.datetime(2024, 2, 29, 18), None, dt.datetime(2024, 3, 1)],
    "day": [dt.date(2024, 2, 29), dt.date(2024, 3, 1), None],
    "duration": [dt.timedelta(hours=1), None, dt.timedelta(seconds=2)],
    "time": [dt.time(12, 30), dt.time(0, 0, 1), None],
    "category": ["a", None, "b"],
    "bytes": [b"caf\xc3\xa9", b"a", None],
    "text": [LONG, "owl", None],
    "missing and text": [None, "owl", LONG],
}


def test_a_column_and_a_dictionary_read_every_kind_of_value_alike():
    """The vectorised rules, of a file's column, against the scalar ones, of a request."""
    for kind, values in KINDS.items():
        column = tidy_frame(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
        encoder, features, seen = StreamEncoder(), FeatureMap(), []
        found = encoder.fit_transform(column)
        for value in values:
            known = features.values({"x": value})
            features = features.extended(features.unknown(known))
            seen.append(features.row(known, learns=True).tolist())

        assert encoder.names() == features.schema().features, kind
        assert encoder.origins() == features.schema().origins, kind
        wide = len(encoder.names())
        assert found.tolist() == [row + [0.0] * (wide - len(row)) for row in seen], kind


def test_a_column_and_a_dictionary_refuse_the_same_values():
    for value in ([1.0], (1,), {1}, 1j, np.ones(2)):
        with pytest.raises(DataError, match="a column holds numbers, texts, dates"):
            tidy_frame(pd.DataFrame({"x": pd.Series([value, None], dtype=object)}))
        with pytest.raises(TypeError, match="a value must be a number, a text, a date"):
            FeatureMap().values({"x": value})
