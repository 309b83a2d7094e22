"""The ring of the last examples is bounded, and as they came."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.last_rows import NUMBERS, REMEMBERED, LastRows


@pytest.mark.parametrize("parts", [[1] * 600, [600], [255, 1, 1, 343], [300, 300]])
def test_blocks_and_single_examples_are_remembered_alike(parts):
    rows = np.arange(1200, dtype=np.float32).reshape(600, 2)
    last, at = LastRows(2), 0
    for n in parts:
        if n == 1:
            last.add_one(at, rows[at], at, 1.0)
        else:
            last.add(at, rows[at : at + n], np.arange(at, at + n), np.ones(n))
        at += n
    found, labels, weights = last.after(600)
    assert labels.tolist() == list(range(600 - REMEMBERED, 600))
    assert weights.all()
    assert (found == rows[-REMEMBERED:]).all()
    assert last.after(600, most=3)[1].tolist() == [597, 598, 599]


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
