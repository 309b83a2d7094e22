from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.keep.settings import duration, in_words


@given(st.integers(1, 999_999))
def test_what_is_written_is_read_again(seconds):
    length = timedelta(seconds=seconds)

    assert duration(in_words(length)) == length


@pytest.mark.parametrize("text", [7, "7", "7 d", "-7d", "7y", "1.5h", "", None, "d"])
def test_anything_else_is_told_what_a_duration_is(text):
    with pytest.raises(ValueError, match="such as 7d, 12h or 30m"):
        duration(text)
