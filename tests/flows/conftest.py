import dataclasses
import shutil
from pathlib import Path

import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.server import PrefectServer
from flows.suite import run_suite
from tasks import results
from tasks.config import Limits, Suite
from tasks.jobs import Job
from tasks.plan import Planned
from tasks.track.store import open_store

STANDINS = Path(__file__).with_name("standins.py")


@pytest.fixture(autouse=True)
def _quiet(environment):
    """Every test here may start Prefect or MLflow."""


@dataclasses.dataclass
class Bench:
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
                label=data,
                repetition=seed,
                settings={"on": data},
            )
            for data in self.data
            for seed in self.seeds
        ]
        keys = [job.key("digest", "version") for job in jobs]
        return [
            Planned(job, key, results.reusable(self.out, key), digest=self.digest)
            for job, key in zip(jobs, keys, strict=True)
        ]

    def run(self, **options):
        given = {"local": True, "workers": 2, "tracking_uri": self.uri} | options
        return run_suite(self.suite, self.planned(), self.out, work=f"{STANDINS}:run_job", **given)

    def runs(self, level, condition=""):
        """The runs of a level, as a client finds them."""
        client = open_store(self.uri)
        name = "standins/configurations" if level == "configuration" else "standins"
        found = client.get_experiment_by_name(name)
        if found is None:
            return []
        query = " and ".join(filter(None, [f"tags.leaseboard.level = '{level}'", condition]))
        return client.search_runs([found.experiment_id], query, max_results=5000)


@pytest.fixture(scope="module")
def url(tmp_path_factory, environment):
    """One Prefect server for all tests of a module, started as a run starts its own."""
    server = PrefectServer(tmp_path_factory.mktemp("server") / "server.log")
    with server:
        address = server.wait()
        before = {process.pid for process in psutil.Process().children()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFECT_API_URL", address)
            with temporary_settings({PREFECT_API_URL: address}):
                yield address
        pid = server._service.pid
        assert pid in before
    assert not psutil.pid_exists(pid)


@pytest.fixture
def bench(tmp_path, empty_store):
    for name in ("out", "mlruns"):
        (tmp_path / name).mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return Bench(tmp_path / "out", f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}", ["well"])
