"""A file that may not grow, or a disk that is full: the line names the file."""

import resource
from contextlib import contextmanager

import numpy as np
import pytest

from leaseboard.algorithms.events import ConfigurationAdmitted, write_log
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import failed

NOISE = np.random.default_rng(0).bytes(20_000).hex()
EVENTS = [ConfigurationAdmitted(at=0, configuration=0, parameters={"noise": NOISE})]


@contextmanager
def no_room(size=2000):
    """Let no file become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def rows():
    job = Job(algorithm="a", data="d", seed=1, environment_seed=1)
    return [failed(job, "crash", NOISE)]


WRITERS = {
    "events.jsonl.gz": lambda path: write_log(path, EVENTS),
    "results.parquet": lambda path: results.assemble(path.parent, rows()),
    "result.json": lambda path: results.write_atomically(path, NOISE),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_file_is_named(tmp_path, name):
    with no_room(), pytest.raises(OSError, match="File too large") as error:
        WRITERS[name](tmp_path / name)

    assert error.value.filename.startswith(str(tmp_path / name))
    assert name in str(error.value)
