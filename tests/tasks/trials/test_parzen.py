"""The densities are hyperopt's: what is proposed is distributed as hyperopt's own suggestions."""

import numpy as np
import pytest
from hyperopt import Trials, hp
from hyperopt.base import Domain
from hyperopt.tpe import suggest

from tasks.trials.parzen import ParzenHistory
from tasks.trials.spaces import Hyperparameter

DRAWS = 150
N_TRIALS = 40
SPECS = {
    "float": Hyperparameter(type="float", low=0.0, high=4.0, default=1.0),
    "log": Hyperparameter(type="float", low=1e-4, high=10.0, log=True, default=1.0),
    "int": Hyperparameter(type="int", low=1, high=9, default=1),
    "logint": Hyperparameter(type="int", low=1, high=100, log=True, default=1),
}
NODES = {
    "float": hp.uniform("x", 0.0, 4.0),
    "log": hp.loguniform("x", np.log(1e-4), np.log(10.0)),
    "int": hp.uniformint("x", 1, 9),
    "logint": hp.qloguniform("x", np.log(1), np.log(100), 1),
    "choice": hp.choice("x", ["a", "b", "c", "d"]),
}


def history(kind):
    """Forty trials whose loss is least near a point inside the range."""
    rng = np.random.default_rng(3)
    if kind == "choice":
        values = [int(rng.integers(4)) for _ in range(N_TRIALS)]
        return [(value, abs(value - 2) + rng.normal(scale=0.1)) for value in values]
    spec = SPECS[kind]
    values = [spec.draw(rng) for _ in range(N_TRIALS)]
    scaled = np.log(values) if spec.log else np.array(values)
    centre = np.quantile(scaled, 0.7)
    return list(zip(values, np.abs(scaled - centre), strict=True))


def hyperopts(kind, known):
    domain = Domain(lambda _: 0.0, NODES[kind], pass_expr_memo_ctrl=False)
    trials = Trials()
    for n, (value, loss) in enumerate(known):
        misc = {"tid": n, "cmd": domain.cmd, "idxs": {"x": [n]}, "vals": {"x": [value]}}
        made = trials.new_trial_docs([n], [None], [{"status": "ok", "loss": float(loss)}], [misc])
        made[0]["state"] = 2
        trials.insert_trial_docs(made)
    trials.refresh()
    found = []
    for seed in range(DRAWS):
        (made,) = suggest([N_TRIALS], domain, trials, seed, verbose=False)
        found.append(made["misc"]["vals"]["x"][0])
    return np.array(found, dtype=float)


def ours(kind, known):
    history = ParzenHistory()
    for value, loss in known:
        history.add({"x": value}, float(loss))
    good, rng = history.good(), np.random.default_rng(0)
    if kind == "choice":
        return np.array([history.category("x", 4, good, rng) for _ in range(DRAWS)], dtype=float)
    return np.array([history.number("x", SPECS[kind], good, rng) for _ in range(DRAWS)])


@pytest.mark.parametrize("kind", NODES)
def test_proposals_are_distributed_as_hyperopts(kind):
    known = history(kind)
    a, b = hyperopts(kind, known), ours(kind, known)
    if kind.startswith("log"):
        a, b = np.log(a), np.log(b)

    spread = max(a.std(), b.std())
    standard_error = spread * np.sqrt(2 / DRAWS)
    assert abs(a.mean() - b.mean()) <= 4 * standard_error
    if kind != "choice":
        assert 0.6 < (b.std() + 1e-9) / (a.std() + 1e-9) < 1.6


def test_an_empty_history_gives_the_prior():
    spec = SPECS["float"]
    found = [
        ParzenHistory().number("x", spec, frozenset(), np.random.default_rng(seed))
        for seed in range(400)
    ]

    assert 1.5 < np.mean(found) < 2.5
    assert min(found) < 0.5
    assert max(found) > 3.5
