import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.trials.optimisers import make
from leaseboard.tasks.evaluate.trials.spaces import load_space

FAST = load_space("fast")
SIXTEEN = load_space("classifiers16")


def played(kind, space, seed, n_trials, known=()):
    """Return the suggestions of an optimiser that learns `known` and is asked for the rest."""
    optimiser, made = make(kind, space, seed), list(known)
    for n in range(n_trials):
        if n >= len(made):
            made.append(optimiser.suggest(n))
        optimiser.tell(n, made[n], reward(made[n]))
    return made


def reward(suggestion):
    """Return a reward that is best at C = 1; other arms and parameters hardly matter."""
    C = suggestion.parameters.get("C", 1e-4)
    return 1 / (1 + abs(np.log10(C)))


def test_another_process_continues_where_the_record_ends():
    for kind in ("tpe", "random"):
        for space in (FAST.restricted(["sgd"]), FAST):
            whole = played(kind, space, 7, 10)

            assert played(kind, space, 7, 10, known=whole[:7]) == whole
            assert played(kind, space, 8, 10) != whole


@pytest.mark.parametrize("kind", ["tpe", "random"])
def test_suggestions_are_legal_and_only_active_hyperparameters(kind):
    for suggestion in played(kind, SIXTEEN, 0, 10):
        arm = SIXTEEN.arms[suggestion.arm]
        for name, value in suggestion.parameters.items():
            spec = arm.hyperparameters[name]
            if spec.choices is not None:
                assert any(value == c and type(value) is type(c) for c in spec.choices)
            else:
                assert spec.low <= value <= spec.high
                assert isinstance(value, int if spec.type == "int" else float)
        full = {name: suggestion.parameters.get(name) for name in arm.hyperparameters}
        assert set(arm.active(full)) == set(suggestion.parameters)


def test_tpe_learns_where_random_search_does_not():
    space = FAST.restricted(["liblinear_svc"])
    late = {
        kind: np.mean([reward(s) for seed in range(4) for s in played(kind, space, seed, 40)[20:]])
        for kind in ("tpe", "random")
    }

    assert late["tpe"] > late["random"] + 0.05


def test_an_arm_without_hyperparameters_has_nothing_to_suggest():
    space = FAST.restricted(["gaussian_nb"])

    assert [s.parameters for s in played("tpe", space, 0, 3)] == [{}] * 3


def test_unknown_optimiser():
    with pytest.raises(UsageError, match="unknown optimiser 'grid'"):
        make("grid", FAST, 0)
