"""Skill of one job on a stream: how much better it was than the best naive baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from leaseboard.algorithms.benches.measures import loss_of, skill_over
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.reference.naive import best_baseline
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.machine.clocks import cpu_seconds


class SkillScore(NamedTuple):
    """A result measured against the naive baselines, and what its stream was."""

    result: Result
    """With the metric ``skill``; as it was where there is nothing to compare: it failed, or is on
    no stream."""
    best: str = ""
    """The registered name of the best baseline; empty where there is none."""
    of_log: bool = False
    """Whether the score is of the logarithm of the target."""
    baselines_cpu_seconds: float = 0.0
    """What the naive baselines took, which is no part of the result's."""


def with_skill(
    job: Job, result: Result, *, mirrors: tuple[Path, ...] = (), baselines: bool = True
) -> SkillScore:
    """The result of `job` with ``skill`` and ``relative_loss``, and what the score is of.

    Skill is of the target itself, as are all measures; the score is of what models learn. The
    relative loss of a leaderboard is of scores, so there is none here where these are of the
    logarithm: it would be another number.

    - `result`: what it came to.
    - `mirrors`: where its data are looked for first.
    - `baselines`: False runs none of them.
    """
    loss = loss_of(result.metrics)
    if result.status != "ok" or loss is None:
        return SkillScore(result)
    dataset = fetch.load(job.data, mirrors=mirrors)
    bench = benches.make(result.bench, dataset, job)
    if not isinstance(bench, StreamBench):
        return SkillScore(result)
    of_log = bench.stream.shift is not None
    before = cpu_seconds()
    best = best_baseline(bench) if baselines and result.complete else None
    taken = cpu_seconds() - before
    if best is None or not best[1]:
        return SkillScore(result, "", of_log, taken)
    skill = skill_over([best[1]], loss)
    more = {"skill": skill} | ({} if of_log else {"relative_loss": 1 - skill})
    told = replace(result, metrics={**result.metrics, **more})
    return SkillScore(told, best[0], of_log, taken)
