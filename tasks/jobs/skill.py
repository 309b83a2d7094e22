"""How much better one job on a stream was than the best of what a person tries first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from algorithms.benches.measures import loss_of, skill_over
from algorithms.benches.stream import StreamBench
from algorithms.reference.first_tries import best_first_try
from tasks import fetch
from tasks.jobs import benches
from tasks.jobs.job import Job, Result


def with_skill(
    job: Job, result: Result, *, mirrors: tuple[Path, ...] = ()
) -> tuple[Result, str, bool]:
    """The result of `job` with the metric ``skill``, over whom it is, and what the score is of.

    Skill is of the target itself, as are all measures; the score is of what models learn.

    - `result`: what it came to.
    - `mirrors`: where its data are looked for first.

    Returns
    -------
    Result
        As it was where there is nothing to compare: it failed, or is on no stream.
    str
        The registered name of the best first try; empty where there is none.
    bool
        Whether the score is of the logarithm of the target.
    """
    loss = loss_of(result.metrics)
    if result.status != "ok" or loss is None:
        return result, "", False
    bench = benches.make(result.bench, fetch.load(job.data, mirrors=mirrors), job)
    if not isinstance(bench, StreamBench):
        return result, "", False
    of_log = bench.stream.shift is not None
    best = best_first_try(bench) if result.complete else None
    if best is None or not best[1]:
        return result, "", of_log
    skill = skill_over([best[1]], loss)
    return replace(result, metrics={**result.metrics, "skill": skill}), best[0], of_log
