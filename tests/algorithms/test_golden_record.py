"""The golden record: what every algorithm decides and predicts is what is recorded of it.

``make golden`` records it again, in a commit that is listed under changed scores.
"""

import json

import pytest

from tests.golden.estimators import ESTIMATORS
from tests.golden.recording import (
    FOLDER,
    LIBRARIES,
    MACHINE,
    machine,
    names,
    require_same,
    runs_of,
)


def test_everything_is_recorded():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(names())
    assert {path.stem for path in LIBRARIES.glob("*.npz")} == set(ESTIMATORS)


@pytest.mark.parametrize("name", names())
def test_an_algorithm_decides_and_predicts_what_is_recorded(name):
    require_same(name, FOLDER / f"{name}.npz", runs_of(name))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_decides_and_predicts_what_is_recorded(name):
    if json.loads(MACHINE.read_text(encoding="utf-8")) != machine():
        pytest.skip("recorded with another processor or other versions of the libraries")

    require_same(name, LIBRARIES / f"{name}.npz", ESTIMATORS[name]())
