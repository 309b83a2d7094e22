"""The golden record: what every algorithm decides and predicts is what is recorded of it.

``make golden`` records it again, in a commit that is listed under changed scores.
"""

import pytest

from tests.golden.recording import FOLDER, names, require_same, runs_of


def test_everything_is_recorded():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(names())


@pytest.mark.parametrize("name", names())
def test_an_algorithm_decides_and_predicts_what_is_recorded(name):
    require_same(name, FOLDER / f"{name}.npz", runs_of(name))
