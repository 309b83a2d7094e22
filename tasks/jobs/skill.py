"""Skill of one job on a stream: how much better it was than the best naive baseline."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.measures import loss_of, skill_over
from leaseboard.algorithms.reference.naive import best_baseline
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.machine.clocks import working_seconds


class SkillScore(NamedTuple):
    """Result with its skill over the naive baselines."""

    result: Result
    """With the metric ``skill``; unchanged if it failed, or is not of a stream."""
    best: str = ""
    """The registered name of the best baseline; empty without baselines."""
    of_log: bool = False
    """True if the score is of the logarithm of the target."""
    baselines_cpu_seconds: float = 0.0
    """Cost of the naive baselines, in addition to the result's."""


def with_skill(
    job: Job,
    result: Result,
    *,
    mirrors: tuple[Path, ...] = (),
    ran: Iterable[Result] = (),
) -> SkillScore:
    """Return the result of `job` with ``skill`` and ``relative_loss``, and what the score is of.

    Skill is of the target itself, like all measures; the score is of what models learn. The
    relative loss of a leaderboard is of scores, so a score of the logarithm gets none: it would be
    another number.

    - `mirrors`: searched first for the data.
    - `ran`: results on the same data; baselines among them are not run again.
    """
    loss = loss_of(result.metrics)
    if result.status != "ok" or loss is None:
        return SkillScore(result)
    dataset = loading.load(job.data, mirrors=mirrors)
    env = environments.make(result.environment, dataset, job)
    if not isinstance(env, StreamEnvironment):
        return SkillScore(result)
    of_log = env.stream.shift is not None
    same = (result.environment, result.environment_options)
    known = {r.algorithm: r.metrics for r in ran
             if r.status == "ok" and (r.environment, r.environment_options) == same}  # fmt: skip
    before, _ = working_seconds()
    best = best_baseline(env, known) if result.complete else None
    taken = working_seconds()[0] - before
    if best is None or not best[1]:
        return SkillScore(result, "", of_log, taken)
    skill = skill_over([best[1]], loss)
    more = {"skill": skill} | ({} if of_log else {"relative_loss": 1 - skill})
    scored = replace(result, metrics={**result.metrics, **more})
    return SkillScore(scored, best[0], of_log, taken)
