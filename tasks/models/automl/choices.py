"""Choices of a search: classifiers of your own, or one classifier and a grid."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.learners.pipelines import Pipelines, named

DRAWN = 20
"""Configurations that are drawn where a parameter has a distribution and no number is said."""


def choices(
    estimator: Any, grid: Any, n_iter: int | None, seed: int
) -> tuple[Pipelines, list[dict[str, Any]]]:
    """Return one configuration for each estimator, or for each point of the grid.

    With them the parameters that each sets of its estimator.

    Parameters
    ----------
    estimator : classifier, sequence or mapping of str to classifier
    grid : mapping or sequence of mappings, optional
        As scikit-learn's searches take it: lists of values, or distributions with an ``rvs``.
    n_iter : int, optional
        How many points are drawn; all of the grid if None, `DRAWN` where there is a distribution.
    seed : int
        Of the draw.
    """
    if isinstance(estimator, (Sequence, Mapping)):
        if grid:
            raise UsageError(
                f"param_grid is of one estimator and {len(estimator)} are given: give one, such as"
                " a Pipeline whose step the grid sets, or leave the grid out"
            )
        return named(estimator), [{} for _ in estimator]
    points = list(_points(grid or {}, n_iter, seed))
    try:
        made = {
            name: clone(estimator).set_params(**clone(point, safe=False))
            for name, point in zip(_names(estimator, points), points, strict=True)
        }
    except ValueError as error:  # which shows the estimator, over several lines
        raise UsageError(f"param_grid: {' '.join(str(error).split())}") from error
    return named(made), points


def _points(grid: Any, n_iter: int | None, seed: int) -> Iterable[dict[str, Any]]:
    parts = [grid] if isinstance(grid, Mapping) else grid
    drawn = any(hasattr(values, "rvs") for part in parts for values in part.values())
    if n_iter is not None and n_iter < 1:
        raise UsageError(f"n_iter={n_iter} draws no configuration: give at least 1")
    if n_iter is None and not drawn:
        return ParameterGrid(grid)
    return ParameterSampler(grid, n_iter or DRAWN, random_state=derive_seed(seed, "grid"))


def _names(estimator: Any, points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each point of a grid: its settings, with its number if they are long."""
    names: list[str] = []
    for number, point in enumerate(points):
        said = short(", ".join(f"{key}={value}" for key, value in point.items()), 80)
        name = said or type(estimator).__name__
        names.append(f"{name} ({number})" if name in names else name)
    return names
