"""Candidates of a selection: configurations drawn by a seed.

Drawn are five learners of the ABC paper with 29 hyperparameters, by random search.
Huang et al. (AAAI 2019) name the learners and the number of hyperparameters, not their domains.
These are the usual ones of each learner.

``paper``
    Ordinary domains, forests and boosted trees that can learn a sample by heart among them.
``bounded``
    Domains in which no learner can, so that their accuracy on a sample of a few thousand rows
    is close to what they reach in full, and the paper's bounds can separate them. Nothing
    binds on a small sample only, because a model that is restricted there fits that sample worse
    than a model from all rows does, against ABC's fitness assumption. So linear models are
    hardly regularised (scikit-learn's C weighs the sum of the losses), leaves may hold few
    rows, and boosting's penalties, which weigh against sums over a leaf, are small.
``late``
    Our own, and the opposite of ``bounded``: four learners whose curves cross late, so that the
    best of a sample is not the best of all rows.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml
from pydantic import Field

from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate.probes import Build, Samples, Shuffled, split
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.splits import SplitOptions


class CandidateOptions(SplitOptions):
    """Options of a selection: its configurations and its rows."""

    configurations: Annotated[int, Field(ge=1)] = 20
    """Number of drawn ones; the first N of a longer draw are the shorter draw."""
    profile: Literal["bounded", "paper", "late"] = "bounded"
    """The domains of the learners, see `leaseboard.tasks.evaluate.learners.candidates`."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of rows that no configuration is trained on: the choice is tested on them."""
    probe_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """CPU seconds after which a fit is given up and its configuration has failed."""


def on_split(
    dataset: Dataset, options: CandidateOptions, seed: int, made: Samples | None = None
) -> tuple[Shuffled, list[Parameters], Build]:
    """Return the rows of a dataset by a seed, the configurations on them, and their builder.

    The same seed draws and builds the same ones; see `split`.
    """
    learner_seed = derive_seed(seed, "learner")

    def build(parameters: Parameters) -> Any:
        from leaseboard.tasks.evaluate.learners import classifiers  # which a replay does not need

        return classifiers.build(parameters, learner_seed)

    drawn = draw_configurations(options.profile, options.configurations, seed)
    return split(dataset, seed, options.test_fraction, made), drawn, build


Domain = dict[str, Any] | list[Any]
"""Range from ``low`` to ``high``, log-uniform if ``log``, of integers if the ends are; choices."""


@cache
def profiles() -> dict[str, dict[str, dict[str, Domain]]]:
    """Return the learners of each profile, in the order in which they alternate."""
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("profiles.yaml").read_text())
    return found


GRADIENT_STEPS = {"paper": 4000, "bounded": 1500}
"""Gradient steps of a network on every sample, large or small.

With a fixed number of epochs it would take few on a small sample and underfit it, which breaks
the fitness assumption of ABC's upper bound.
"""


def identity(options: CandidateOptions) -> str:
    """Return a hash of the domains that configurations are drawn from: other ones, other jobs."""
    return hashlib.sha256(repr(profiles()[options.profile]).encode()).hexdigest()[:12]


def draw_configurations(profile: str, count: int, seed: int) -> list[Parameters]:
    """Return the first `count` configurations of the sequence that `profile` and `seed` name.

    The learners alternate. A longer draw begins with the shorter one, so that stored probes
    serve both.
    """
    learners = list(profiles()[profile].items())
    drawn: list[Parameters] = []
    for index in range(count):
        learner, space = learners[index % len(learners)]
        rng = generator(seed, "configuration", profile, index)
        parameters = {name: _drawn(domain, rng) for name, domain in space.items()}
        if learner == "NeuralNetwork":
            parameters["steps"] = GRADIENT_STEPS[profile]
        drawn.append({"learner": learner, **parameters})
    return drawn


def _drawn(domain: Domain, rng: np.random.Generator) -> Any:
    """Draw a value; one of a range of reals has four significant digits."""
    if isinstance(domain, list):
        return domain[rng.integers(len(domain))]
    low, high = domain["low"], domain["high"]
    whole = isinstance(low, int)
    if "log" in domain:
        value = math.exp(rng.uniform(math.log(low), math.log(high + whole)))
    elif whole:
        value = rng.integers(low, high + 1)
    else:
        value = rng.uniform(low, high)
    return int(value) if whole else float(f"{value:.4g}")
