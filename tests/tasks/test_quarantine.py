"""What comes of an order that is given to the quarantine, said in one line."""

import pytest

from algorithms.errors import UserFileError
from tasks import quarantine
from tasks.config import Limits

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=4000)


def test_an_answer_that_is_too_long_is_called_that():
    with pytest.raises(UserFileError, match="its answer is longer than 64 MB"):
        quarantine.ask("operator:mul", None, "x", 70_000_000, limits=LIMITS)


def test_an_answer_that_comes_too_late_is_called_that():
    limits = LIMITS.model_copy(update={"wall_seconds": 0.2})
    with pytest.raises(UserFileError, match=r"over the limit of 0\.2 s of wall time"):
        quarantine.ask("time:sleep", None, 600, limits=limits)
