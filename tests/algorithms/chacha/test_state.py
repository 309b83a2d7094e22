"""The compiled steps of a race, each on slots filled in by hand."""

import math

import pytest

from leaseboard.algorithms.chacha.presets import Flaml, Paper
from leaseboard.algorithms.chacha.state import better, epsilon_flaml, epsilon_paper, worse

PAPER, FLAML = Paper().rules(), Flaml().rules()


def test_epsilon_of_the_appendix():
    # a = 0.05 * 20 = 1; 11 ln(1000 * 45 / 0.1) / 1000 = 0.011 * 13.01700...
    epsilon = epsilon_paper(1000, 11, 45, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.011 * 13.0170028), rel=1e-7)


def test_epsilon_of_the_authors_code():
    # a = 1; sqrt(11) sqrt(log10(10000) / 1000) = sqrt(11 * 4 / 1000)
    epsilon = epsilon_flaml(1000, 11, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.044))


def test_better_asks_for_a_gap_of_the_champions_epsilon():
    assert better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.4)
    assert not better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.5)


def test_worse_with_and_without_the_authors_margin():
    assert worse(1.2, 0.1, champion_upper=1.15, margin=0.0)
    assert not worse(1.2, 0.1, champion_upper=1.15, margin=1.0)
    assert not worse(1.15, 0.1, champion_upper=1.15, margin=0.0)
