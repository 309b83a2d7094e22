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


def with_skill(job: Job, result: Result, *, mirrors: tuple[Path, ...] = ()) -> tuple[Result, str]:
    """The result of `job` with the metric ``skill``, and over whom it is.

    Parameters
    ----------
    job : Job
    result : Result
        What it came to.
    mirrors : tuple of Path
        Where its data are looked for first.

    Returns
    -------
    Result
        As it was where there is nothing to compare: it failed, or is on no stream.
    str
        The registered name of the best first try; empty where there is none.
    """
    loss = loss_of(result.metrics)
    if result.status != "ok" or loss is None or not result.complete:
        return result, ""
    bench = benches.make(result.bench, fetch.load(job.data, mirrors=mirrors), job)
    best = best_first_try(bench) if isinstance(bench, StreamBench) else None
    if best is None or not best[1]:
        return result, ""
    skill = skill_over([best[1]], loss)
    return replace(result, metrics={**result.metrics, "skill": skill}), best[0]
