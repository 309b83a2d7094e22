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


def test_signs_in_a_label_or_a_reason_are_shown_and_not_obeyed():
    job = Job("a", "d", seed=0, environment_seed=0, label="x\x1b[2Jy")
    made = failed(job, "crash", "\x1b]0;title\x07", key="k")
    file = io.StringIO()
    Progress(1, 0, file=file)(made)

    assert file.getvalue() == "[1/1] x\\x1b[2Jy on d, seed 0: crash: \\x1b]0;title\\x07\n"
