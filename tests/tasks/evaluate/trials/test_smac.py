"""SMAC's adapter, which needs the extra ``leaseboard[smac]``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leaseboard.tasks.evaluate.trials.optimisers import make
from leaseboard.tasks.evaluate.trials.spaces import load_space

pytestmark = pytest.mark.smac

FAST = load_space("fast")
ROOT = Path(__file__).resolve().parents[4]


def reward(suggestion):
    return 1 / (1 + abs(np.log10(suggestion.parameters.get("C", 1e-4))))


def played(kind, space, n_trials, known=()):
    optimiser, made = make(kind, space, 7), list(known)
    for n in range(n_trials):
        if n >= len(made):
            made.append(optimiser.suggest(n))
        optimiser.tell(n, made[n], reward(made[n]))
    return made


def test_another_process_continues_where_the_record_ends():
    for kind, space in (("smac", FAST.restricted(["sgd"])), ("smac", FAST), ("bohb", FAST)):
        whole = played(kind, space, 12)

        assert played(kind, space, 12, known=whole[:7]) == whole


@pytest.mark.parametrize("kind", ["smac", "bohb"])
def test_the_hashes_of_a_process_change_nothing(kind):
    code = (
        f"from tests.tasks.evaluate.trials.test_smac import *; print(played({kind!r}, FAST, 12))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": number},
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout
        for number in ("1", "2", "3")
    }  # fmt: skip

    assert len(said) == 1


def test_suggestions_are_legal_and_only_active_hyperparameters():
    space = load_space("classifiers16")
    for suggestion in played("smac", space, 12):
        arm = space.arms[suggestion.arm]
        full = {name: suggestion.parameters.get(name) for name in arm.hyperparameters}
        assert set(arm.active(full)) == set(suggestion.parameters)


def test_bohb_climbs_from_a_ninth_of_the_rows_to_all_of_them():
    fidelities = {round(s.fidelity, 4) for s in played("bohb", FAST, 20)}

    assert fidelities == {0.1111, 0.3333, 1.0}


def test_a_record_that_smac_does_not_repeat_is_refused():
    whole = played("smac", FAST, 3)
    strange = [whole[1], whole[0], whole[2]]

    with pytest.raises(RuntimeError, match="does not repeat its trial 0"):
        played("smac", FAST, 3, known=strange)
