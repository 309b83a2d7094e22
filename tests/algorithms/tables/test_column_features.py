"""Columns are encoded to the bit as their rows one after the other are."""

import datetime as dt

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.tables.column_features import ColumnFeatures, Texts
from leaseboard.algorithms.tables.features import FeatureMap

LONG = "Owls eat mice. " * 20
NUMBERS = st.sampled_from([None, -1.5, 0.0, 1e-7, 0.1, 3.0, 3e38])
FLAGS = st.sampled_from([None, True, False])
TEXTS = st.sampled_from([None, "a", "b", "#3", "Ünï", "1", *[f"t{i}" for i in range(40)]])
FREE = st.sampled_from([None, "short", LONG, "a cat sat", ""])
DATES = st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
COLUMNS = {"x": NUMBERS, "x10": NUMBERS, "x2": NUMBERS, "flag": FLAGS, "kind": TEXTS, "id": TEXTS,
           "note": FREE, "when": DATES}  # fmt: skip
ROWS = st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=70)


def as_columns(rows):
    """Return the rows as columns, each of the kind that its values have."""
    found = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("kind", "id", "note"):
            known = list(dict.fromkeys(sorted(value for value in values if value is not None)))
            codes = [-1 if value is None else known.index(value) for value in values]
            found[name] = Texts(np.array(codes), known)
        elif name == "when":
            found[name] = np.array(values, dtype="datetime64[us]")
        else:
            found[name] = np.array([np.nan if v is None else v for v in values], dtype=float)
    return found


def one_by_one(features, rows):
    """Return what a learner sees of each row at its width then, and that width."""
    seen = []
    for row in rows:
        values = features.values(row)
        unknown = features.unknown(values)
        if unknown:
            features = features.extended(unknown)
        seen.append(features.row(values, learns=True).copy())
    return features, seen


def plain(state):
    return state | {"gaps": state["gaps"].tolist()}


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(0, 70), st.sampled_from([1, 4]))
def test_columns_are_encoded_as_their_rows(rows, cut, few):
    scalar, fast, births = FeatureMap(), ColumnFeatures(), []
    scalar.few = fast.few = few
    scalar, seen = one_by_one(scalar, rows)
    parts = [rows[:cut], rows[cut:]]  # a second table goes on from the first
    for start, part in zip((0, len(rows[:cut])), parts, strict=True):
        if not part:
            continue
        before = fast.n_features
        found, births = fast.encode(as_columns(part), learns=True)
        assert (births[:before] == 0).all()
        for i, row in enumerate(found):
            width = len(seen[start + i])
            assert row[:width].tobytes() == seen[start + i].tobytes()
            assert not row[width:].any()
            assert (births <= i).sum() == width or i == 0
    assert fast.schema() == scalar.schema()
    assert fast.schema().origins == scalar.schema().origins
    assert plain(fast.state()) == plain(scalar.state())


@settings(max_examples=15, deadline=None)
@given(ROWS, ROWS)
def test_rows_that_are_only_predicted_are_encoded_alike_and_teach_nothing(learned, rest):
    fast = ColumnFeatures()
    fast.encode(as_columns(learned), learns=True)
    before = plain(fast.state())
    found, _ = fast.encode(as_columns(rest), learns=False)

    assert plain(fast.state()) == before
    for row, reported in zip(rest, found, strict=True):
        assert reported.tobytes() == fast.row(fast.values(row)).tobytes()
