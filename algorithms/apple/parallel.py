"""Parallel apple: section 3.2's last paragraph.

    1. In the first pass each node finds its own parents over six epochs.
    2. The union of all nodes' parents is the parent set from then on.
    3. In the other passes the feature set is fixed, and the weights are averaged after each.

Averages go the right way slowly, so that a pass may start beyond the last, on the line from the
one before it: `losses_beyond`.

The reference row is the paper's own implementation, ``--stage_poly`` of Vowpal Wabbit. Three
things in it are not the algorithm of the paper, and ours differs there: a product of two parents
is counted once for each path to it, deeper monomials give way to shallower ones at a hash
collision, and its parallel mode has not done step 2 since June 2014: nodes keep their own parents
and average hashed weights that mean different monomials.
"""

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms import events
from leaseboard.algorithms.apple.apple import Apple, Rate, listed, metrics_of, opened
from leaseboard.algorithms.apple.kernel import HIGH, LOW, UNSEEN
from leaseboard.algorithms.apple.learner import GrowingLearner, readable
from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.holdout import HoldoutAlgorithm, HoldoutEnvironment, Rows


@dataclass(frozen=True, kw_only=True)
class ParallelApple(Apple):
    """apple over a partition of the examples: local choice, union of parents, averaged weights.

    Of several learning rates, by default those of `apple`, the one answers whose averaged weights
    lose least on the training rows. The progressive losses of the nodes do not help: each learned
    a part of the examples alone, and the rate that suits the average, which wanders less, is
    higher.

    Parameters
    ----------
    partitions : int
        Nodes, each with its own part of the training rows. All other settings are `Apple`'s.

    Notes
    -----
    The nodes learn one after the other: a job's CPU time is that of all. The paper is silent on
    how the rate of its parallel form was chosen.

    Departs from the paper, which averages repeatedly: if there are more rows than monomials, a
    pass starts beyond the last average, on the line from the average before, by the step that
    loses least on the training rows, 0 among them. Each of K nodes makes a K-th of a single
    node's steps, so that five averages are far from where they go. Chen and Huo 2016, Scalable
    training of deep learning machines (blockwise model-update filtering), go on by 1 - 1/K of the
    way; on nodes of a few hundred rows that fixed step diverges. The answer is an average.
    """

    passes: ClassVar[int] = 5
    """Passes of the paper's experiment."""

    many_classes: ClassVar[bool] = False

    partitions: Annotated[int, Field(ge=1, le=4096)] = 8

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Run the three steps, one pass after the other."""
        holdout, every, rates = self.holdout(env), self.examples(env), self.tried
        yield from opened(rates, env.budget, partitions=self.partitions)
        averages = [self.learner(every, rate) for rate in rates]
        starts = list(averages)
        known = np.zeros((len(rates), len(every)), dtype=np.float32)
        champion = 0
        yield events.ChampionChanged(at=0, configuration=champion, previous=None)
        while env.at < env.budget:
            first, examples = not env.at, every.at(slice(env.budget - env.at))
            n, labels = len(examples), examples.targets[0]
            cuts = np.linspace(0, n, min(self.partitions, n) + 1).astype(int)
            parts = [examples.at(slice(*ends)) for ends in pairwise(cuts)]
            losses = np.zeros(len(rates))
            for i, rate in enumerate(rates):
                nodes = [copy.deepcopy(starts[i]) for _ in parts]
                # Step 1 or 3 at each node, whose features grow in its first pass alone.
                said = [
                    chunk[1][:, 0]
                    for node, part in zip(nodes, parts, strict=True)
                    for chunk in self.chunks((node,), part, len(part))
                ]
                if i == champion:
                    yield from env.record(np.concatenate(said))
                average = united(nodes, self.learner(every, rate))
                now = average.predict(examples.rows, clamped=False)
                ahead = losses_beyond(average, now, known[i, :n], labels)
                losses[i] = ahead[0]
                # More weights than rows can fit these all, whose loss then says nothing.
                steps = len(parts) > 1 and average.size < n
                step = STEPS[int(np.argmin(ahead))] if steps else 0.0
                starts[i] = beyond(average, averages[i], step)
                averages[i], known[i, :n] = average, now
                if first:
                    yield events.FeaturesExpanded(
                        at=n,
                        configuration=i,
                        found=tuple(int(node.parent.sum()) for node in nodes),
                        parents=tuple(readable(m, holdout.names) for m in average.parents()),
                        size=average.size,
                        degree=average.max_degree,
                    )
            best = int(np.argmin(losses))
            if best != champion:
                yield events.ChampionChanged(at=env.at, configuration=best, previous=champion)
                champion = best
        learner = averages[champion]
        env.submit(learner.predict(holdout.test.rows))
        env.note(metrics_of([learner]) | {"parents": float(learner.parent.sum())})


STEPS = (0.0, 0.5, 1.0, 2.0, 4.0)
"""How far beyond an average the next pass may start, in ways from the average before it."""


def united(nodes: Sequence[GrowingLearner], empty: GrowingLearner) -> GrowingLearner:
    """Return `empty` with all parents (step 2) and the averaged weights (step 3).

    Every node's parents hold, with a monomial, the parent that made it, and so does their union.
    Weights are averaged by the sums of squared gradients, as Agarwal et al. 2014 (A reliable
    effective terascale linear learning system) and VW do.
    """
    empty.expand_by({monomial for node in nodes for monomial in node.parents()})
    w_sum, g_sum, g_squares, largest = np.zeros((4, len(empty.records)))
    for node in nodes:
        source, target = empty.places_of(node)
        n = 1 / node.records["inverse"][source].astype(np.float64)
        seen = n > UNSEEN
        state, target, n = node.records[source[seen]], target[seen], n[seen]
        g = state["g"] * n**2
        w_sum[target] += g * (state["w"] / n)
        g_sum[target] += g
        g_squares[target] += g**2
        largest[target] = np.maximum(largest[target], n)
    empty.totals[:] = np.mean([node.totals for node in nodes], axis=0)
    empty.totals[LOW] = min(node.totals[LOW] for node in nodes)
    empty.totals[HIGH] = max(node.totals[HIGH] for node in nodes)
    known = np.flatnonzero(largest)
    n, g = largest[known], np.maximum(g_sum[known], np.finfo(float).tiny)
    empty.records["inverse"][known] = 1 / n
    empty.records["w"][known] = w_sum[known] / g * n
    empty.records["g"][known] = g_squares[known] / g / n**2
    return empty


def losses_beyond(average: GrowingLearner, now: Floats, before: Floats, labels: Floats) -> Doubles:
    """Return the squared losses of `average` moved on by each of `STEPS`.

    Margins are linear in the weights: `now` are those of the average, `before` of the one before.
    """
    here = now.astype(np.float64)
    moved = here + np.multiply.outer(STEPS, here - before)
    errors = np.clip(moved, *average.totals[[LOW, HIGH]]) - labels
    return np.asarray((errors**2).sum(axis=1))


def beyond(average: GrowingLearner, before: GrowingLearner, step: float) -> GrowingLearner:
    """Return a copy of `average` moved on by `step` times its way from `before`, weights alone."""
    moved = copy.deepcopy(average)
    source, target = moved.places_of(before)
    was, now = before.records[source], moved.records
    start = np.zeros(len(now))
    start[target] = was["w"] * (was["inverse"].astype(np.float64) / now["inverse"][target])
    now["w"] += step * (now["w"] - start)
    return moved


@dataclass(frozen=True, kw_only=True)
class StagePoly(HoldoutAlgorithm):
    """VW's ``--stage_poly``, as it ships.

    The rows are made VW's text beforehand; the measured time is that of parsing and learning it.

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
        """Write the rows as VW's text."""
        env.once(written, env)

    def run(self, env: HoldoutEnvironment, seed: int) -> Run:
        """Learn with each rate; the one with the lowest progressive squared loss answers."""
        from vowpalwabbit import Workspace

        n, rates = min(env.budget, env.n_train), self.rates or (self.learning_rate,)
        examples, questions = env.once(written, env)
        yield from opened(rates, env.budget)
        options = (
            f"--quiet --no_stdin -b {self.bits} --stage_poly --sched_exponent {self.alpha!r}"
            f" --batch_sz {-(-n // self.epochs)} --batch_sz_no_doubling"
        )
        learners = [Workspace(f"{options} -l {rate!r}") for rate in rates]
        for learner in learners:
            for example in examples:
                learner.learn(example)
        losses = [learner.get_sum_loss() for learner in learners]
        champion = int(np.argmin(losses))
        env.skip(n)
        yield events.ChampionChanged(at=env.at, configuration=champion, previous=None)
        predictions = [learners[champion].predict(line) for line in questions]
        env.submit(np.array(predictions, dtype=np.float32))
        for learner in learners:
            learner.finish()


def written(env: HoldoutEnvironment) -> tuple[list[str], list[str]]:
    """Return the training and the test rows as VW's text."""
    train = env.holdout.train
    return [*lines(train.rows[: env.budget], train.labels)], [*lines(env.holdout.test.rows)]


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
