"""Environments of jobs, as a run makes them."""

from leaseboard.tasks.jobs.environments import divided, resolve


def environment_of(kind, dataset, job, parts=None):
    """Return the environment of `kind` on `dataset`, with the job's options, seed and budget."""
    return resolve(kind, job.environment).make(divided(dataset, job), job, parts)
