import sys
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks.stream_autovw import LEARNERS
from leaseboard.tasks.evaluate.frameworks.stream_program import Asked
from tests.played import played


class AutoVWStandIn:
    """Fake that keeps the lines that it is given, and predicts the label before."""

    AUTOMATIC = "_auto"

    def __init__(self, **given):
        self.given = given
        self.lines = []
        self.last = 0.0

    def predict(self, line):
        self.lines.append(line)
        return self.last

    def learn(self, line):
        self.lines.append(line)
        self.last = float(line.split("|")[0])


@pytest.fixture(autouse=True)
def flaml(monkeypatch):
    """Put the fake in the place of the library."""
    monkeypatch.setitem(sys.modules, "flaml", SimpleNamespace(AutoVW=AutoVWStandIn))


def made(namespaces=()):
    asked = Asked("regression", 3, 0, ("x0", "x1", "x2"), (), namespaces)
    return asked, LEARNERS["stock"](asked)


def test_a_line_that_is_predicted_has_no_label_and_its_groups_are_namespaces():
    asked, model = made((("x0", "x1"), ("x2",)))

    _, reported = played(asked, model, [[1, 0.5, -2], [0, 0, 0]], [4, 6])

    found = model._model
    assert reported[:, 0].tolist() == [0, 4]
    assert found.lines == [
        "|a 0:1.000000 1:0.500000|b 2:-2.000000",
        "4.0 |a 0:1.000000 1:0.500000|b 2:-2.000000",
        "|a 0:0.000000 1:0.000000|b 2:0.000000",
        "6.0 |a 0:0.000000 1:0.000000|b 2:0.000000",
    ]
    assert found.given["random_seed"] == 3
    assert found.given["max_live_model_num"] == 5
    assert found.given["search_space"]["interactions"] == "_auto"


def test_columns_without_groups_are_one_namespace():
    _, model = made()

    model.predict_one({"x0": 1, "x1": 2, "x2": 3})

    assert model._model.lines == ["|a 0:1.000000 1:2.000000 2:3.000000"]


def test_a_line_whose_label_comes_later_is_predicted_again():
    """AutoVW compares a label to its last prediction."""
    asked, model = made()

    played(asked, model, [[1, 0, 0], [2, 0, 0]], [4, 6], after=1)

    first, second = (f"|a 0:{n}.000000 1:0.000000 2:0.000000" for n in (1, 2))
    assert model._model.lines == [
        first, second, first, f"4.0 {first}", second, f"6.0 {second}",
    ]  # fmt: skip
