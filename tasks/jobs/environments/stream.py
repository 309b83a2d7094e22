"""The stream environment of a dataset."""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess.encoding import StreamOptions, as_stream

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks import StreamSession


class Options(KindOptions, StreamOptions):
    """Options in ``job.environment``."""

    def measure(self) -> str:
        """Return what scores measure: of which rows and labels, and whether of the logarithm."""
        rows = "" if self.max_rows is None else f" of at most {self.max_rows} rows"
        log = f" with log_target {self.log_target}" if self.log_target else ""
        labels = "" if self.arrival.is_immediate else f", labels {self.labels}"
        return f"progressive loss{rows}{log}{labels}"

    def shared_by(self, seed: int) -> Any:
        """Return all options, and the seed where it orders the rows; of labels their column."""
        own = {"labels": self.arrival.column, "seed": seed if self.shuffle else None}
        return self.model_dump() | own

    def parts(self, dataset: Dataset, seed: int) -> Stream:
        """Return the stream."""
        return as_stream(dataset, self, seed)

    def make(self, dataset: Dataset, job: Job, parts: Stream | None = None) -> StreamEnvironment:
        """Return the environment of `job` on `dataset`, or on the first `job.budget` examples."""
        examples = job.examples()  # before the data are encoded
        stream = parts or as_stream(dataset, self, job.environment_seed)
        return StreamEnvironment(stream, examples, outside=_session, arrival=self.arrival)


def arrival_of_file(algorithm: str, data: str, given: Collection[str]) -> Arrival:
    """Return when labels of a job on a file arrive by default: elsewhere than on a file, at once.

    And where `given` settings name it, or shuffle the rows.

    See `leaseboard.tasks.models.columns.labels_with_date`.
    """
    from leaseboard.tasks.fetch import loading
    from leaseboard.tasks.models.columns import labels_with_date

    with suppress(LeaseboardError):  # the job says so itself
        is_stream = describe(algorithm).environment == StreamEnvironment.kind
        unsaid = not {"labels", "shuffle"}.intersection(given)
        if unsaid and is_stream and loading.parse(data).source in ("", "file"):
            return labels_with_date(loading.load(data).features)
    return Arrival()


def _session(system: str, learner: str, stream: Stream, seed: int) -> "StreamSession":
    from leaseboard.tasks.evaluate.frameworks import StreamSession  # for frameworks alone

    return StreamSession(system, learner, stream, seed)
