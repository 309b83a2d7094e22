"""Search of a library among given configurations: ``select_program SYSTEM``.

It imports nothing of Leaseboard and sees no data. The first message that it reads is the order:
how many configurations there are, the rows of a full training and of a first probe, the seed
and the settings of the search. Then it sends what it wants to know, and reads the accuracy, None
for what could not be trained; at last it sends what it chose. The library decides all of that.
What it would fit, Leaseboard fits and records, so that a fit costs the same for every search.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

Order = dict[str, Any]
Ask = Callable[..., float]
"""From a configuration, rows and a fold to the accuracy; CannotTrainError if training fails."""

CONFIGURATION = "configuration"

GROWTH = 4
"""How many times larger the next sample of a trial is: the reduction factor of Optuna's
``SuccessiveHalvingPruner``, so that there is a sample at each of its rungs and none between."""


class CannotTrainError(Exception):
    """Error of a configuration that could not be trained on a sample."""


def sklearn_halving(order: Order, ask: Ask) -> int | None:
    """Search by ``HalvingGridSearchCV`` or ``HalvingRandomSearchCV`` with rows as the resource.

    The class decides; of its estimator only the score is asked for, and only on rows to be tested
    on: the score on training rows, which it would report by default, decides nothing. Every fold
    is one row here, by which the estimator knows it. The random search is given as many candidates
    as there are, because `exhaust`, its default, draws from distributions until the rows are
    used up, and `smallest`, its default first round, is some 20 rows.
    """
    import warnings

    import numpy as np
    from sklearn.base import BaseEstimator
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV, HalvingRandomSearchCV, PredefinedSplit

    settings, folds = order["settings"], order["settings"]["folds"]

    class Asking(BaseEstimator):
        """Estimator whose score Leaseboard computes."""

        def __init__(self, configuration: int = 0, rows: int = 1) -> None:
            self.configuration = configuration
            self.rows = rows

        def fit(self, X: Any, y: Any = None) -> Asking:
            return self

        def score(self, X: Any, y: Any = None) -> float:
            fold = {} if folds == 1 else {"fold": int(X[0][0]), "folds": folds}
            return ask(int(self.configuration), int(self.rows), **fold)

    grid = {CONFIGURATION: list(range(order["configurations"]))}
    given = {
        "resource": "rows",
        "max_resources": order["rows"],
        "min_resources": settings["min_resources"],
        "factor": settings["factor"],
        "cv": PredefinedSplit([-1, 0]) if folds == 1 else folds,
        "return_train_score": False,
        "random_state": order["seed"],
    }
    if settings["search"] == "random":
        search = HalvingRandomSearchCV(
            Asking(), grid, n_candidates=order["configurations"], **given
        )
    else:
        search = HalvingGridSearchCV(Asking(), grid, **given)
    with warnings.catch_warnings():
        # A configuration that cannot be trained has no score.
        for known in ("Scoring failed", "One or more of the test scores are non-finite"):
            warnings.filterwarnings("ignore", known, UserWarning)
        search.fit(np.arange(max(2, folds)).reshape(-1, 1))
    # Its choice is of the last round, also where none of that could be trained.
    trained = np.isfinite(search.cv_results_["mean_test_score"]).any()
    return int(search.best_params_[CONFIGURATION]) if trained else None


def optuna_study(order: Order, ask: Ask) -> int | None:
    """Search by Optuna's study with a pruner, as its tutorial does: report, then ask."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    settings, seed, n = order["settings"], order["seed"], order["configurations"]
    unit = order["initial_rows"]
    if settings["pruner"] == "median":
        pruner = optuna.pruners.MedianPruner(n_startup_trials=settings["startup_trials"])
    else:
        pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=settings["min_resource"])
    space = list(range(n))
    sampler = optuna.samplers.GridSampler({CONFIGURATION: space}, seed=seed)
    sizes = samples(unit, order["rows"])

    def objective(trial: Any) -> float:
        configuration = trial.suggest_categorical(CONFIGURATION, space)
        for rows in sizes:
            accuracy = ask(configuration, rows)
            trial.report(accuracy, -(-rows // unit))
            if trial.should_prune():
                raise optuna.TrialPruned
        return accuracy

    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=n, catch=(CannotTrainError,))
    done = any(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)
    return int(study.best_trial.params[CONFIGURATION]) if done else None


def samples(unit: int, rows: int) -> list[int]:
    """Return the samples of a trial: the first probe's, `GROWTH` times more each, and all rows.

    >>> samples(1000, 20_000)
    [1000, 4000, 16000, 20000]
    >>> samples(1000, 16_000), samples(1000, 300)
    ([1000, 4000, 16000], [300])
    """
    found = []
    while unit < rows:
        found.append(unit)
        unit *= GROWTH
    return [*found, rows]


SYSTEMS: dict[str, Callable[[Order, Ask], int | None]] = {
    "scikit-learn": sklearn_halving,
    "optuna": optuna_study,
}


def main(_inside: ModuleType, wire: Any, system: str) -> None:
    """Read the order, search, send what is chosen."""
    order = wire.recv()

    def ask(configuration: int, rows: int, **fold: int) -> float:
        wire.send({CONFIGURATION: configuration, "rows": rows, **fold})
        found = wire.recv()
        if found is None:
            raise CannotTrainError(f"configuration {configuration} on {rows} rows")
        return float(found)

    wire.send({"chosen": SYSTEMS[system](order, ask)})
