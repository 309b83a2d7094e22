"""The reference row: the paper's own implementation, ``--stage_poly`` of Vowpal Wabbit.

Three things in it are not the algorithm of the paper, and ours differs there: a product of two
parents is counted once for each path to it, deeper monomials give way to shallower ones at a
hash collision, and its parallel mode has not merged the nodes' parents since 2014.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms import events
from leaseboard.algorithms.apple.apple import Rate, listed
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.holdout import (
    Floats,
    HoldoutAlgorithm,
    HoldoutEnvironment,
    Rows,
)
from leaseboard.algorithms.errors import LeaseboardError


@dataclass(frozen=True, kw_only=True)
class StagePoly(HoldoutAlgorithm):
    """VW's ``--stage_poly``, as it ships.

    The training rows are written to VW's binary cache beforehand, so that the measured time is
    its learning and not its parsing of text.

    Parameters
    ----------
    alpha, epochs : float, int
        As in `Apple`.
    learning_rate, rates, bits
        As in `Apple`; progressive validation picks the rate.

    Notes
    -----
    Features are named by strings: for integer names VW's default hash is the identity, and
    products of parents then land on the base features.

    It learns in one pass, however many the environment allows: in later ones VW's schedule goes on
    growing the features.
    """

    may_stop: ClassVar[bool] = True
    """It learns in one pass, however many the environment allows."""

    alpha: Annotated[float, Field(ge=0, le=2)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=100)] = 6
    learning_rate: Rate = 0.5
    rates: Annotated[tuple[Rate, ...], BeforeValidator(listed)] = ()
    bits: Annotated[int, Field(ge=10, le=30)] = 18

    @property
    def capacity(self) -> int:
        """One model for each learning rate."""
        return max(1, len(self.rates))

    def prepare(self, env: HoldoutEnvironment) -> None:
        """Write the rows as VW's text, and let VW make its cache of them."""
        env.once(written, env, self.bits)

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Learn with each rate; the one with the lowest progressive squared loss answers."""
        n, rates = min(env.budget, env.n_train), self.rates or (self.learning_rate,)
        text, questions = env.once(written, env, self.bits)
        for i, rate in enumerate(rates):
            parameters = {"learning_rate": rate}
            yield events.ConfigurationAdmitted(at=0, configuration=i, parameters=parameters)
            yield events.LeaseGranted(at=0, configuration=i, amount=env.budget, slot=i)
        options = (
            f"-d {text} --cache_file {text}.cache -b {self.bits} --stage_poly --sched_exponent"
            f" {self.alpha!r} --batch_sz {-(-n // self.epochs)} --batch_sz_no_doubling"
        )
        learners = [_workspace(f"{options} -l {rate!r}") for rate in rates]
        for learner in learners:
            if learner.get_weighted_examples() != n:
                raise LeaseboardError(
                    f"VW learned {learner.get_weighted_examples():g} of {n} examples"
                    " from its cache: its version does not read it"
                )
        losses = [learner.get_sum_loss() for learner in learners]
        champion = int(np.argmin(losses))
        env.skip(n, losses[champion] / max(n, 1))
        yield events.ChampionChanged(at=env.at, configuration=champion, previous=None)
        if env.scores_test:
            predictions = [learners[champion].predict(line) for line in questions]
            env.submit(np.array(predictions, dtype=np.float32))
        for learner in learners:
            learner.finish()


def written(env: HoldoutEnvironment, bits: int) -> tuple[Path, list[str]]:
    """Write the training rows and VW's cache of them; return the file, and the test rows."""
    folder = Path(tempfile.mkdtemp(prefix="stage-poly-"))
    weakref.finalize(env, shutil.rmtree, folder)
    text, train = folder / "train.txt", env.holdout.train
    with text.open("w", encoding="ascii") as out:
        out.writelines(line + "\n" for line in lines(train.rows[: env.budget], train.labels))
    _workspace(f"-d {text} --cache_file {text}.cache -k -b {bits} --noop").finish()
    return text, list(lines(env.holdout.test.rows))


def lines(rows: Rows, labels: Sequence[float] | Floats = ()) -> Iterator[str]:
    """Yield examples as VW's text, with their labels if there are any; zeros are left out.

    Examples
    --------
    >>> list(lines(np.float32([[0, 1.5, 2]]), [-1]))
    ['-1 | f1:1.5 f2:2']
    """
    rows = sparse.csr_array(rows)
    for t in range(rows.shape[0]):
        place = slice(rows.indptr[t], rows.indptr[t + 1])
        pairs = zip(rows.indices[place], rows.data[place], strict=True)
        label = f"{labels[t]:.9g} " if len(labels) else ""
        yield f"{label}| " + " ".join([f"f{i}:{x:.9g}" for i, x in pairs])


def _workspace(options: str) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet --no_stdin {options}")
