"""Equations 1 to 3 on numbers computed by hand."""

import math

import pytest

from leaseboard.algorithms.chacha.published.state import (
    better,
    clipped_absolute_error,
    epsilon_flaml,
    epsilon_paper,
    updated_mean,
    worse,
)


def test_the_proxy_clips_the_prediction_not_the_label():
    assert clipped_absolute_error(12.0, 8.0, low=0.0, high=10.0) == 2.0
    assert clipped_absolute_error(-3.0, 8.0, low=0.0, high=10.0) == 8.0
    assert clipped_absolute_error(7.0, 8.0, low=0.0, high=10.0) == 1.0


def test_the_mean_of_losses_is_updated_one_by_one():
    mean = 0.0
    for n, loss in enumerate([4.0, 2.0, 3.0]):
        mean = updated_mean(mean, n, loss)

    assert mean == pytest.approx(3.0)


def test_epsilon_of_the_appendix():
    # a = 0.05 * 20 = 1; 11 ln(1000 * 45 / 0.1) / 1000 = 0.011 * 13.01700...
    epsilon = epsilon_paper(1000, 11, 45, delta=0.1, coefficient=0.05, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.011 * 13.0170028), rel=1e-7)


def test_epsilon_of_the_authors_code():
    # a = 1; sqrt(11) sqrt(log10(10000) / 1000) = sqrt(11 * 4 / 1000)
    epsilon = epsilon_flaml(1000, 11, delta=0.1, coefficient=0.05, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.044))


def test_the_literal_bound_is_wider_by_the_stated_factor():
    # sqrt(ln(10) (1 + log10 |S| / log10(n / delta))), here 1.8
    literal = epsilon_paper(4000, 11, 45, 0.1, 0.05, 1.0)
    coded = epsilon_flaml(4000, 11, 0.1, 0.05, 1.0)

    assert literal / coded == pytest.approx(
        math.sqrt(math.log(10) * (1 + math.log10(45) / math.log10(40000)))
    )


def test_better_asks_for_a_gap_of_the_champions_epsilon():
    assert better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.4)
    assert not better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.5)


def test_worse_with_and_without_the_authors_margin():
    assert worse(1.2, 0.1, champion_upper=1.15, margin=0.0)
    assert not worse(1.2, 0.1, champion_upper=1.15, margin=1.0)
    assert not worse(1.15, 0.1, champion_upper=1.15, margin=0.0)
