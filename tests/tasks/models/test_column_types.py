"""The same values are the same column, in every dtype of NumPy, pandas and Arrow."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.online_automl.scikit import StreamRegressor
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.models.automl.estimators import AutoMLRegressor
from leaseboard.tasks.models.columns import read_rows
from leaseboard.tasks.models.stream_model import StreamModel

N = 40
RNG = np.random.default_rng(0)
HIDDEN = RNG.integers(0, 100, N)
OTHER = RNG.normal(size=N)
LABELS = HIDDEN / 10 + OTHER
HOURS = pd.date_range("2024-01-31", periods=200, freq="7h")[HIDDEN]
DAYS = pd.date_range("2024-01-31", periods=200, freq="D")[HIDDEN]
MILLIS = HIDDEN * 1500
WORDS = np.array(["ada", "bea", "cyd", "dan"], dtype=object)[HIDDEN % 4]
CUTS = pd.interval_range(0, 100, periods=5)


def arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(list(values), type=kind)))


def objects(values):
    return pd.Series(list(values), dtype=object)


INTEGERS = ["int8", "int64", "uint8", "uint64"]
PLAIN = {
    "number": pd.Series(HIDDEN.astype(float)),
    "flag": pd.Series(HIDDEN > 50),
    "date": pd.Series(HOURS.astype("datetime64[us]")),
    "day": pd.Series(DAYS.astype("datetime64[us]")),
    "duration": pd.Series(MILLIS / 1000),
    "time": pd.Series(MILLIS / 1000),
    "text": objects(WORDS),
    "interval": objects(map(str, CUTS[HIDDEN // 20])),
    "code": objects(map(str, HIDDEN % 4)),
}
TIMES = [(dt.datetime(2024, 1, 1) + dt.timedelta(milliseconds=int(ms))).time() for ms in MILLIS]
NAIVE = [stamp.to_pydatetime() for stamp in HOURS]
FORMS = {
    "number": {
        **{name: pd.Series(HIDDEN.astype(name)) for name in INTEGERS},
        **{name: pd.Series(HIDDEN.astype(name)) for name in ("f2", "f4", "longdouble")},
        "objects of float": objects(HIDDEN.astype(float)),
        "objects of Decimal": objects(map(decimal.Decimal, HIDDEN.tolist())),
        **{name: pd.Series(HIDDEN, dtype=name) for name in ("Int8", "Int64", "UInt16", "Float32",
                                                            "Float64", "Sparse[int64]",
                                                            "Sparse[float64]")},
        **{f"arrow {name}": arrow(HIDDEN.astype(name), pa.from_numpy_dtype(np.dtype(name)))
           for name in (*INTEGERS, "float16", "float32", "float64")},
        "arrow decimal": arrow(map(decimal.Decimal, HIDDEN.tolist()), pa.decimal128(12, 3)),
    },
    "flag": {
        "objects of bool": objects((HIDDEN > 50).tolist()),
        "boolean": pd.Series(HIDDEN > 50, dtype="boolean"),
        "sparse": pd.Series(pd.arrays.SparseArray(HIDDEN > 50)),
        "arrow": arrow((HIDDEN > 50).tolist(), pa.bool_()),
    },
    "date": {
        **{f"datetime64[{unit}]": pd.Series(HOURS.astype(f"datetime64[{unit}]"))
           for unit in ("s", "ms", "ns")},
        "zoned": pd.Series(HOURS.tz_localize("America/New_York")),
        "objects of datetime": objects(NAIVE),
        "period": pd.Series(HOURS.to_period("h")),
        **{f"arrow {unit}": arrow(NAIVE, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        "arrow zoned": pd.Series(HOURS.tz_localize("Asia/Tokyo")).astype(
            pd.ArrowDtype(pa.timestamp("ns", "Asia/Tokyo"))
        ),
    },
    "day": {
        "objects of date": objects(DAYS.date),
        "period": pd.Series(DAYS.to_period("D")),
        "arrow date32": arrow(DAYS.date, pa.date32()),
    },
    "duration": {
        **{f"timedelta64[{unit}]": pd.Series(pd.to_timedelta(MILLIS, "ms").astype(f"m8[{unit}]"))
           for unit in ("ms", "us", "ns")},
        "objects of timedelta": objects(dt.timedelta(milliseconds=int(ms)) for ms in MILLIS),
        "objects of timedelta64": objects(MILLIS.astype("m8[ms]")),
        **{f"arrow {unit}": pd.Series(pd.to_timedelta(MILLIS, "ms")).astype(
            pd.ArrowDtype(pa.duration(unit))) for unit in ("ms", "us", "ns")},
    },
    "time": {
        "objects of time": objects(TIMES),
        "arrow time64[ns]": arrow(TIMES, pa.time64("ns")),
    },
    "text": {
        "str": pd.Series(WORDS, dtype="str"),
        "string": pd.Series(WORDS, dtype="string"),
        "objects of bytes": objects(word.encode() for word in WORDS),
        "category": pd.Series(WORDS, dtype="category"),
        "category of bytes": pd.Series(pd.Categorical([word.encode() for word in WORDS])),
        "arrow string": arrow(WORDS, pa.string()),
        "arrow binary": arrow([word.encode() for word in WORDS], pa.binary()),
        "arrow dictionary": arrow(sorted(WORDS), pa.string()).iloc[:0],
    },
    "interval": {
        "interval": pd.Series(CUTS[HIDDEN // 20]),
        "pd.cut": pd.Series(pd.Categorical(CUTS[HIDDEN // 20], categories=CUTS)),
    },
}  # fmt: skip
FORMS["text"]["arrow dictionary"] = pd.Series(
    pd.arrays.ArrowExtensionArray(
        pa.DictionaryArray.from_arrays(
            pa.array(HIDDEN % 4, pa.int8()), pa.array(["ada", "bea", "cyd", "dan"])
        )
    )
)
FORMS["code"] = {
    "category of int": pd.Series(HIDDEN % 4, dtype="category"),
    "category of float": pd.Series(HIDDEN % 4 / 1.0, dtype="category"),
}
ALL = [(kind, form) for kind, forms in FORMS.items() for form in forms]


def table(column, gaps=False):
    column = column.copy()
    if gaps:
        column[::7] = None
    return pd.DataFrame({"x": column, "z": OTHER})


def each_form(which):
    return pytest.mark.parametrize(("kind", "form"), which, ids=[" ".join(one) for one in which])


@each_form(ALL)
def test_a_column_is_tidied_to_what_numpy_has_and_a_gap_is_one_in_every_type(kind, form):
    column, plain = FORMS[kind][form], PLAIN[kind]
    for gaps in (False, True):
        if gaps and (form in (*INTEGERS, "interval", "arrow dictionary") or "parse" in form):
            column = column.astype(object)
        if gaps and kind == "flag":
            plain = plain.astype(object)
        tidy = columns.tidy_frame(table(column, gaps))
        expected = columns.tidy_frame(table(plain, gaps))
        pd.testing.assert_frame_equal(tidy, expected, check_dtype=kind != "number")


SOME = [
    ("number", "arrow decimal"), ("flag", "arrow"), ("date", "arrow zoned"), ("day", "period"),
    ("duration", "arrow us"), ("time", "arrow time64[ns]"), ("text", "arrow binary"),
]  # fmt: skip
"""One of each kind that other libraries have for theirs: where a form takes a second of work."""


def policy():
    return AutoMLRegressor(
        arms=["ridge"], max_trials=1, trial_cpu_seconds=None, cv=0.2, random_state=0
    )


def test_durations_of_an_array_are_seconds():
    X = MILLIS.astype("m8[ms]").reshape(-1, 1)
    seconds = X / np.timedelta64(1, "s")

    for made in (StreamRegressor(), policy()):
        expected = made.fit(seconds, LABELS).predict(seconds)
        assert made.fit(X, LABELS).predict(X).tolist() == expected.tolist()
    reported = OnlineAutoMLRegressor().predict_then_learn_many(seconds, LABELS)
    assert OnlineAutoMLRegressor().predict_then_learn_many(X, LABELS).tolist() == reported.tolist()


@each_form(SOME)
def test_learn_and_predict_a_file(kind, form, tmp_path):
    reported = []
    for name, column in (("a", PLAIN[kind]), ("b", FORMS[kind][form])):
        path = tmp_path / f"{name}.parquet"
        table(column).assign(y=LABELS).to_parquet(path)
        model = StreamModel.for_table(read_rows(path), algorithm="vanilla")
        learned = model.learn_table(read_rows(path)).predictions.prediction.tolist()
        reported.append((learned, model.predict(read_rows(path)).tolist()))

    assert reported[0] == reported[1]


REFUSED = {
    "complex": pd.Series([1j, 2j]),
    "dicts": objects([{"a": 1}, None]),
    "arrow list": arrow([[1], [2]], pa.list_(pa.int64())),
    "months": objects([np.timedelta64(3, "M"), None]),
    "bytes of another code": objects([b"\xff", b"a"]),
}


@pytest.mark.parametrize("form", REFUSED)
def test_values_of_other_types_are_refused_in_one_line(form):
    frame = pd.DataFrame({"x": REFUSED[form], "z": 1.0})

    for refuse in (
        lambda: columns.tidy_frame(frame),
        lambda: OnlineAutoMLRegressor().predict_then_learn_many(frame, np.arange(len(frame))),
        lambda: policy().fit(frame, np.arange(len(frame))),
        lambda: StreamRegressor().fit(frame, np.arange(len(frame))),
    ):
        with pytest.raises(DataError, match=r"^column 'x'[^\n]*$"):
            refuse()
    if not isinstance(frame.x[0], dict):  # which is a namespace
        with pytest.raises((TypeError, DataError), match=r"^[^\n]*$"):
            OnlineAutoMLRegressor().learn_one({"x": frame.x[0]}, 1.0)
