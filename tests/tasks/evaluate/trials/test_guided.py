import pytest

from leaseboard.tasks.evaluate.trials.optimisers import Guided, RandomSearch, make
from leaseboard.tasks.evaluate.trials.spaces import load_space

SPACE = load_space("tables-classification")


def played(optimiser, rewards):
    """Return the suggestions of an optimiser that gets `rewards` one after the other."""
    made = []
    for n, reward in enumerate(rewards):
        made.append(optimiser.suggest(n))
        optimiser.tell(n, made[-1], reward)
    return made


def test_an_arm_tries_its_default_then_what_is_known_to_be_good_then_its_optimiser():
    arm = SPACE.restricted(["lightgbm"])
    made = played(make("guided", arm, 0), [0.5] * 7)
    leads = arm.arms["lightgbm"].leads()

    assert [each.parameters for each in made[:6]] == leads
    assert leads[0]["n_estimators"] == 100  # LightGBM's own
    assert made[6].parameters not in leads
    assert {each.fidelity for each in made} == {1.0}


def test_the_defaults_of_all_arms_come_before_anything_else():
    space = SPACE.restricted(["qda", "lightgbm", "mlp"])
    made = played(make("guided", space, 0), [0.5] * 5)

    assert [each.arm for each in made] == ["qda", "lightgbm", "mlp", "qda", "lightgbm"]


def test_a_default_goes_on_to_all_rows_and_others_if_they_are_in_the_best_third():
    arm = SPACE.restricted(["lightgbm"])
    guided = Guided(arm, 0, lambda: RandomSearch(arm, 0), shares=(0.1, 1.0))
    made = played(guided, [0.6, 0.7, 0.5, 0.9, 0.8])

    # The default, again; two that are not the best third, or are too few; the best of three.
    assert [each.fidelity for each in made] == [0.1, 1.0, 0.1, 0.1, 1.0]
    assert made[1].parameters == made[0].parameters
    assert made[4].parameters == made[3].parameters


def test_nothing_that_failed_goes_on():
    arm = SPACE.restricted(["lightgbm"])
    guided = Guided(arm, 0, lambda: RandomSearch(arm, 0), shares=(0.1, 0.4, 1.0))

    assert {each.fidelity for each in played(guided, [0.0] * 12)} == {0.1}


@pytest.mark.parametrize("shares", [(1.0,), (0.1, 1.0), (0.05, 0.2, 1.0)])
def test_it_goes_on_from_a_record_as_if_it_had_never_stopped(shares):
    arm = SPACE.restricted(["extra_trees"])
    rewards = [0.5, 0.6, 0.55, 0.7, 0.2, 0.9, 0.65, 0.3, 0.8, 0.75, 0.1, 0.85]
    whole = make("guided", arm, 3, shares)
    made = played(whole, rewards)
    later = make("guided", arm, 3, shares)
    for n in range(7):
        later.tell(n, made[n], rewards[n])

    assert later.suggest(7) == made[7]
    assert max(each.fidelity for each in made) == 1.0
