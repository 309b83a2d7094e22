"""Columns that trees see: those they know stay where they are."""

from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.members.view import MOST_EFFECTS, TreeView
from leaseboard.algorithms.plain import values_of


def races(n, n_texts):
    texts = SimpleNamespace(n_columns=n_texts)
    return [SimpleNamespace(ensemble=SimpleNamespace(texts=texts)) for _ in range(n)]


def grown(*steps):
    view = TreeView(2)
    for n_features, n, n_texts in steps:
        view.grow(n_features, races(n, n_texts))
    return view


def test_what_is_new_comes_after_all_that_was_seen():
    view = grown((2, 2, 1), (4, 3, 1), (4, 3, 2))

    assert view.features.tolist() == [0, 1, 4, 5]
    assert view.effects.tolist() == [
        [2, 0, 0], [3, 1, 0], [6, 2, 0], [7, 0, 1], [8, 1, 1], [9, 2, 1]
    ]  # fmt: skip
    assert view.n_columns == 10


def test_effects_are_bounded_whatever_came_first():
    for steps in [[(2, 99, 1)], [(2, 40, 1), (3, 40, 2)], [(2, 64, 1), (2, 64, 3), (3, 65, 3)]]:
        view = grown(*steps)
        assert len(view.effects) == MOST_EFFECTS
        assert view.n_columns == steps[-1][0] + MOST_EFFECTS


def test_it_takes_saved_columns_of_another_order_and_refuses_what_is_not_there():
    view, state = grown((3, 3, 2)), values_of(grown((2, 2, 1), (3, 3, 2)), TreeView.kept)
    view.fill(state)
    assert view.effects.tolist() == state["effects"].tolist()
    for name, where, wrong in [
        ("features", 0, 10**9), ("features", 0, 1), ("effects", (0, 0), -1),
        ("effects", (0, 1), 3), ("effects", (0, 2), 2),
    ]:  # fmt: skip
        broken = state | {name: state[name].copy()}
        broken[name][where] = wrong
        with pytest.raises(ValueError, match="columns that the model does not have"):
            view.fill(broken)
    with pytest.raises(ValueError, match="columns"):
        view.fill(state | {"features": np.arange(2)})
