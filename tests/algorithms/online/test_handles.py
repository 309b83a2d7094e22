"""Arrays and functions that compiled code finds by their addresses."""

import numpy as np
import pytest

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import call_at, handle_of, quick


@quick
@compiled
def add(values, number, twice):
    if number < 0:
        raise ValueError("less than nothing")
    values[0] += number
    return 2 * number if twice else number


@quick
@compiled
def double(values):
    values[0] *= 2


@compiled
def through(codes, values, number):
    found = call_at(codes[0], 0, (values, number, True))
    call_at(codes[1], None, (values,))
    return found


def test_code_is_called_by_its_address():
    values = np.array([1.0])
    codes = np.array([add.address(values, 1, False), double.address(values)])

    assert through(codes, values, 5) == 10
    assert values.tolist() == [12.0]


def test_an_error_comes_through():
    values = np.zeros(1)
    codes = np.array([add.address(values, 1, False), double.address(values)])

    with pytest.raises(ValueError, match="less than nothing"):
        through(codes, values, -1)
    assert values.tolist() == [0.0]


def test_a_handle_of_an_array_with_gaps_is_refused():
    with pytest.raises(ValueError, match="not contiguous: copy it"):
        handle_of(np.zeros((4, 4))[:, 1])
