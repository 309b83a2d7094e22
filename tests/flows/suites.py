"""Suites of stand-in jobs; without Prefect, which a child that needs none shall not load."""

import dataclasses
from pathlib import Path

from leaseboard.flows.benchmark import Run
from leaseboard.flows.dispatch import RunOptions, dispatch
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.plan import Planned
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.track.store import open_store

STANDINS = Path(__file__).with_name("standins.py")


def reusable(out, key):
    """Return the job's result if a run would not repeat it: it is ok, and whole with its log."""
    found = results.look(results.job_folder(out, key), key)
    return found if isinstance(found, results.Result) and found.status == "ok" else None


@dataclasses.dataclass
class SuiteRunner:
    """A suite of stand-in jobs in a folder of its own."""

    out: Path
    uri: str
    data: list
    seeds: tuple = (1, 2)
    limits: Limits = dataclasses.field(default_factory=Limits)
    reference: str = ""  # of real data, where a stand-in's name will not do
    digest: str = "digest"

    @property
    def suite(self):
        return Suite(
            title="Stand-ins",
            name="standins",
            data=["d"],
            algorithms=["vanilla"],
            limits=self.limits,
        )

    def planned(self):
        jobs = [
            Job(
                algorithm="vanilla",
                data=self.reference or data,
                seed=seed,
                environment_seed=0,
                name=data,
                repetition=seed,
                settings={"on": data},
            )
            for data in self.data
            for seed in self.seeds
        ]
        keys = [job.key("digest", "version") for job in jobs]
        return [
            Planned(job, key, reusable(self.out, key), digest=self.digest)
            for job, key in zip(jobs, keys, strict=True)
        ]

    def run(self, *, uri="", planned=None, workers=1, **options):
        """Return the results of all jobs; by default without Prefect."""
        planned = planned or self.planned()
        given = {"local": True, "work": f"{STANDINS}:run_job"} | options
        how = RunOptions(workers, **given)
        kept = (self.out, self.uri if uri == "" else uri)
        waiting = [entry.job for entry in planned if not entry.done]
        return dispatch(
            self.suite,
            self.out,
            how,
            waiting,
            lambda steps: Run(self.suite, planned, {}, steps, *kept).run(),
        )

    def runs(self, level, condition=""):
        """Return the runs of a level, as a client finds them."""
        client = open_store(self.uri)
        name = "standins/configurations" if level == "configuration" else "standins"
        found = client.get_experiment_by_name(name)
        if found is None:
            return []
        query = " and ".join(filter(None, [f"tags.leaseboard.level = '{level}'", condition]))
        return client.search_runs([found.experiment_id], query, max_results=5000)
