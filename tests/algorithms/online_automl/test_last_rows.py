"""The ring of the last examples is bounded, and as they came."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.last_rows import NUMBERS, LastRows


@pytest.mark.parametrize("n", [5, 400])
def test_more_columns_leave_room_for_fewer_examples(n):
    last = LastRows(1, NUMBERS)
    last.add(0, np.arange(n)[:, None], np.arange(n), np.ones(n))
    last.grow(NUMBERS // 3, n)
    rows, labels, _ = last.after(n)
    assert last.rows.size <= NUMBERS
    assert labels.tolist() == rows[:, 0].tolist() == [n - 3, n - 2, n - 1]
    last.grow(2 * NUMBERS, n)
    assert last.after(n)[1].tolist() == [n - 1]
