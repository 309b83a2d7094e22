import io

import pytest

from leaseboard.flows.benchmark import Progress
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import failed


def over(data):
    job = Job("vanilla", data, seed=3, environment_seed=0, label="a")
    return failed(job, "crash", "why", key="k")


def test_a_line_counts_and_calls_a_data_set_by_the_suites_name_for_it():
    file = io.StringIO()
    progress = Progress(10, 8, {"sklearn:wine": "red wine"}, file)
    progress(over("sklearn:wine"))
    progress(over("sklearn:iris"))
    assert file.getvalue().splitlines() == [
        "[ 9/10] a on red wine, seed 3: crash: why",
        "[10/10] a on sklearn:iris, seed 3: crash: why",
    ]


def test_signs_in_a_name_are_shown_and_not_obeyed():
    file = io.StringIO()
    Progress(1, 0, {"d": "x\x1b[2Jy"}, file)(over("d"))

    assert file.getvalue() == "[1/1] a on x\\x1b[2Jy, seed 3: crash: why\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_line_holds_no_password_whatever_it_quotes(monkeypatch, kind):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:hunter2secret@db/x")
    job = Job("vanilla", "hunter2secret", seed=3, environment_seed=0)
    file = kind()
    with Progress(1, 0, file=file) as progress:
        progress(failed(job, "crash", "none", key="k"))

    assert "vanilla on ***" in file.getvalue()
    assert "hunter2secret" not in file.getvalue()
