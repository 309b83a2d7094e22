from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluate.trials.scoring import Judge
from tasks.models.automl.ensemble import EnsembleMember, EnsembleModel, distance, selected


def test_the_first_member_is_the_best_and_the_others_improve_the_mean():
    targets = np.array([1.0, 2.0, 3.0, 4.0])
    low, high, far = targets - 0.2, targets + 0.3, np.full(4, 9.0)
    members, score = selected([high, low, far], Judge("r2", targets), rounds=5)

    assert members == [1, 0, 1, 0, 1]  # 3/5 of -.2 and 2/5 of .3 is 0
    assert score == pytest.approx(1.0)


def test_one_candidate_is_an_ensemble_of_one():
    judge = Judge("accuracy", np.array([0, 1, 1]), np.array([0, 1]))
    members, score = selected([np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])], judge)

    assert (members, score) == ([0], pytest.approx(2 / 3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_no_single_candidate_is_better_on_the_rows_that_chose(seed, n_candidates):
    rng = np.random.default_rng(seed)
    targets = rng.integers(3, size=30)
    judge = Judge("accuracy", targets, np.arange(3))
    candidates = [rng.dirichlet([1, 1, 1], 30) for _ in range(n_candidates)]
    members, score = selected(candidates, judge)

    assert score > max(judge.score(each) for each in candidates) - 1e-9
    mean = np.mean([candidates[member] for member in members], axis=0)
    assert judge.score(mean) == pytest.approx(score)


def test_among_equals_the_nearer_one_is_chosen():
    judge = Judge("accuracy", np.array([0, 1]), np.array([0, 1]))
    unsure, sure = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.1, 0.9]])

    assert selected([unsure, sure], judge, rounds=1)[0] == [1]
    assert distance(sure, judge) == pytest.approx(0.01)


def test_a_round_without_time_is_not_part_of_the_answer_but_for_the_first():
    targets = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = targets - 0.2, targets + 0.3
    for looks, members in ((0, [0]), (1, [1]), (2, [1]), (3, [1, 0])):
        left = chain([1.0] * looks, repeat(0.0)).__next__
        assert selected([high, low], Judge("r2", targets), left=left)[0] == members


class Says:
    def __init__(self, value):
        self.value = value

    def predict(self, X):
        return np.full(len(X), self.value)


def test_a_member_is_the_mean_of_its_models_and_the_ensemble_that_of_its_members():
    model = EnsembleModel(
        [EnsembleMember("a", 0.75, [Says(1.0), Says(3.0)]), EnsembleMember("b", 0.25, [Says(6.0)])]
    )

    assert model.forecast(np.zeros((2, 1), dtype=np.float32)).tolist() == [3.0, 3.0]
