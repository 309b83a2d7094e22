import itertools

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    fbeta_score,
    get_scorer_names,
    log_loss,
    make_scorer,
    roc_auc_score,
)

from leaseboard.tasks.evaluate.scoring import Judge

NAMES = np.array(["no", "yes"])
RNG = np.random.default_rng(0)
TARGETS = RNG.choice(NAMES, 200, p=[0.8, 0.2])
CHANCES = np.column_stack([1 - (p := RNG.random(200)), p])


def test_the_score_is_that_of_scikit_learn():
    said = NAMES[CHANCES.argmax(axis=1)]
    expected = {
        "accuracy": (said == TARGETS).mean(),
        "balanced_accuracy": balanced_accuracy_score(TARGETS, said),
        "f1_macro": f1_score(TARGETS, said, average="macro"),
        "roc_auc": roc_auc_score(TARGETS == "yes", CHANCES[:, 1]),
        "neg_log_loss": -log_loss(TARGETS, CHANCES),
    }
    for scoring, score in expected.items():
        assert Judge(scoring, TARGETS, NAMES).score(CHANCES) == pytest.approx(score), scoring


def test_the_score_has_weights():
    weights = np.where(TARGETS == "yes", 4.0, 1.0)
    said = NAMES[CHANCES.argmax(axis=1)]

    judge = Judge("accuracy", TARGETS, NAMES, weights)
    assert judge.score(CHANCES) == pytest.approx(np.average(said == TARGETS, weights=weights))


def test_a_share_is_its_own_reward_and_a_loss_is_one_half_for_the_best_constant():
    assert Judge("accuracy", TARGETS, NAMES).reward(0.7) == 0.7
    for scoring, targets, classes in (
        ("neg_log_loss", TARGETS, NAMES),
        ("r2", CHANCES[:, 0], None),
        ("neg_mean_absolute_error", CHANCES[:, 0], None),
    ):
        judge = Judge(scoring, targets, classes)
        assert judge.reward(judge.ends[0]) == 1.0
        assert judge.reward(judge.ends[1]) == pytest.approx(0.5)


def test_the_first_rows_are_judged_alone():
    judge = Judge("neg_log_loss", TARGETS, NAMES)

    assert judge.score(CHANCES[:50]) == pytest.approx(-log_loss(TARGETS[:50], CHANCES[:50]))


POSITIVE = [
    *("average_precision", "d2_brier_score", "f1", "jaccard", "neg_brier_score"),
    *("recall", "roc_auc", make_scorer(fbeta_score, beta=2)),
]


def test_the_second_of_two_classes_is_the_positive_one():
    codes = (NAMES[1] == TARGETS).astype(int)
    for scoring in POSITIVE:
        expected = Judge(scoring, codes, np.array([0, 1])).score(CHANCES)
        for names in (NAMES, NAMES.astype(object), np.array([5, 7])):
            judge = Judge(scoring, names[codes], names)

            assert judge.score(CHANCES) == pytest.approx(expected), (scoring, names)
            assert np.isfinite(judge.ends).all()


RANKS = [
    "average_precision",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "roc_auc_ovo",
    "roc_auc_ovo_weighted",
]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_class_without_a_row_is_not_an_obstacle_to_a_scorer_that_can_judge_all_classes():
    rng, able = np.random.default_rng(0), set()
    for scoring, classes in itertools.product(get_scorer_names(), ([0, 1, 2], ["a", "b", "c"])):
        names = np.array(classes)
        codes = rng.integers(len(names), size=60)
        given = rng.dirichlet(np.ones(len(names)), 60)
        try:
            assert Judge(scoring, names[codes], names).ends
        except (ValueError, TypeError):
            continue  # it judges no such classes at all
        able.add(scoring)
        for absent in (0, 2):
            kept = codes != absent
            judge = Judge(scoring, names[codes[kept]], names)
            best, constant = judge.ends

            assert judge.score(given[kept]) < best >= constant, (scoring, absent)

    assert able >= {*RANKS, "accuracy", "neg_log_loss"}


def test_the_chance_of_a_class_without_a_row_counts_as_lost():
    targets, probabilities = np.array(["a", "b"]), np.array([[0.5, 0.2, 0.3], [0.1, 0.5, 0.4]])
    names = np.array(["a", "b", "c"])

    assert Judge("neg_log_loss", targets, names).score(probabilities) == pytest.approx(np.log(0.5))
    brier = -((0.5**2 + 0.2**2 + 0.3**2) + (0.1**2 + 0.5**2 + 0.4**2)) / 2
    assert Judge("neg_brier_score", targets, names).score(probabilities) == pytest.approx(brier)
    for scoring in RANKS:
        assert Judge(scoring, targets, names).score(probabilities) == 1.0
