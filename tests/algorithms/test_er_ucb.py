import numpy as np
import pytest

from leaseboard.algorithms.er_ucb import ErUcb, ErUcbAuto, exploitation, exploration
from tests.simulation import SEVEN_GAUSSIANS, simulate


def test_exploitation_term_of_equation_14():
    assert exploitation(np.array(0.02), np.array(0.0004), 0.01) == pytest.approx(0.22)


def test_exploration_term_of_equation_15():
    # t = 10, T = 4: e = sqrt(2 ln 10 / 4)
    e = np.sqrt(2 * np.log(10) / 4)

    assert exploration(np.array(4), 10, 0.01) == pytest.approx(e + 10 * np.sqrt(e))


def test_table_1():
    """The paper: best 1.06 ± 0.02, R_1 = 0.90 ± 0.01, arm 1 pulled most in every run."""
    table = simulate(ErUcb(), SEVEN_GAUSSIANS, budget=1000, runs=15, seed=0)

    assert table.best.mean() == pytest.approx(1.06, abs=0.015)
    assert 0.87 <= table.exploitation[:, 0].mean() <= 0.91
    assert (table.exploitation.argmax(axis=1) == 0).mean() >= 0.99


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [
        ({"gamma": 1.0}, 0.15, 0.20),  # equation 16, the one that is analysed
        ({"beta": 0.0}, 0.0, 0.02),  # below the best mean the policy is useless
        ({"theta": 0.5}, 0.1, 0.35),
        ({"gamma": 0.0}, 0.13, 0.15),
    ],
)
def test_figure_1_sensitivity(settings, least, most):
    study = simulate(ErUcb(**settings), SEVEN_GAUSSIANS, budget=1000, runs=8, seed=0)

    assert least <= study.exploitation[:, 0].mean() <= most


@pytest.mark.parametrize(("one_sided", "least"), [(True, 0.55), (False, 0.85)])
def test_beta_without_hindsight_finds_the_extreme_arm(one_sided, least):
    auto = ErUcbAuto(one_sided=one_sided)
    study = simulate(auto, SEVEN_GAUSSIANS, budget=1000, runs=8, seed=0)

    assert study.exploitation[:, 0].mean() > least
    assert (study.exploitation.argmax(axis=1) == 0).all()
