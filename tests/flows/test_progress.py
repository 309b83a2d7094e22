import io

from flows.progress import Progress
from tasks.jobs import Job
from tasks.run import failed


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
