"""What fills a gap is decided by the rows before it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.tables.row_reader import RowReader, new_gaps

NAN = np.nan


def filled(values):
    """Return the values of a column, whose gaps are filled one after the other."""
    reader, found = RowReader({}, new_gaps(1), None), []
    for value in values:
        reader.example[:] = value
        reader.learn_gaps()
        found.append(reader.example[0])
    return np.array(found)


def test_where_values_move_slowly_it_is_the_last_one_and_in_a_long_gap_the_mean():
    random = np.random.default_rng(0)
    values = [0.0]
    for step in random.normal(0, 1, 20_000):
        values.append(0.99 * values[-1] + step)
    found = filled([*values, *[NAN] * 1000])[-1000:]

    assert abs(found[0] - values[-1]) < 0.05 * abs(values[-1])
    assert abs(found[-1] - np.mean(values)) < 0.05


numbers = st.floats(-1e6, 1e6, width=32) | st.just(NAN)


@given(st.lists(numbers, min_size=1, max_size=30), st.integers(0, 29), numbers)
def test_later_rows_change_nothing(values, place, other):
    cut = place % len(values)
    changed = [*values[: cut + 1], other, *values[cut + 1 :]]

    assert np.array_equal(filled(values)[: cut + 1], filled(changed)[: cut + 1])


@given(st.lists(numbers, min_size=1, max_size=30))
def test_what_fills_a_gap_lies_within_the_values_before(values):
    found = filled(values)
    for place in np.flatnonzero(np.isnan(values)):
        seen = [v for v in values[:place] if not np.isnan(v)] or [0.0]
        slack = 1e-5 * max(map(abs, seen))
        assert min(seen) - slack <= found[place] <= max(seen) + slack
