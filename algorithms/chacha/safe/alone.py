"""A live model without its race: of examples and labels as they come."""

from __future__ import annotations

from dataclasses import replace

from leaseboard.algorithms.chacha.safe.in_words import Words
from leaseboard.algorithms.chacha.safe.representations import Representations
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.kernel_learner import KernelLearner
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema


def alone(
    learner: Learner,
    schema: Schema,
    representations: Representations,
    center: float,
    spread: float,
) -> KernelLearner:
    """The model of `schema` that forecasts ``center + spread * p`` where `learner` says p.

    Parameters
    ----------
    learner : Learner
        Of the kernel, over the schema of `representations`; it is used up.
    schema : Schema
        Of examples as they come.
    representations : Representations
    center, spread : float

    Raises
    ------
    UsageError
        If it sees what only the race can compute: features standardised or in pieces, or earlier
        labels.
    """
    computed = {*(learner.configuration.namespaces or ())} - {*representations.raw}
    if computed:
        seen = Words(schema, representations).features(computed)
        raise UsageError(
            f"the champion sees features that the race computes and no model alone can ({seen}):"
            ' build with tune="interactions+learning-rate" to have one that sees features as they'
            " are, or keep the race by `save`"
        )
    assert isinstance(learner, KernelLearner)
    learner.rescale(spread, center)
    return learner.over(schema, replace(learner.configuration, namespaces=None))
