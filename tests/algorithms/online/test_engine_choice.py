"""Which engine is taken, and that a fallback says so."""

import logging

import pytest

from algorithms.errors import UsageError
from algorithms.online.engine import choose_engine


def test_the_kernel_is_taken_where_it_can_do_the_work(caplog):
    with caplog.at_level(logging.WARNING):
        assert choose_engine("auto", "regression") == ("kernel", ())

    assert not caplog.records


@pytest.mark.parametrize(
    ("task", "options"), [("classification", ""), ("regression", "--l1 1e-6")]
)
def test_a_fallback_says_so(caplog, task, options):
    with caplog.at_level(logging.WARNING):
        engine, _ = choose_engine("auto", task, options)

    assert engine == "vw"
    assert "falling back" in caplog.text
    assert f"the kernel has no {options or '--loss_function logistic'}" in caplog.text


def test_the_kernel_refuses_what_it_cannot_do():
    with pytest.raises(UsageError, match="use engine 'vw' or 'auto'"):
        choose_engine("kernel", "classification")
