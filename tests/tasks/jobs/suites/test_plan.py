"""What is wrong with a suite is said with file, line and key; data in trouble cost their jobs."""

import hashlib
import re
from dataclasses import replace

import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import failed
from leaseboard.tasks.jobs.suites.plan import check_suite, plan
from leaseboard.tasks.jobs.suites.suite import load_suite

COLUMNS = "id,name,task,rows,features,target,sha256,licence\n"
GOOD = """\
title: t
data:
  - sklearn:wine
  - {data: "sklearn:iris", environment: {max_rows: 50}}
algorithms:
  - vanilla
  - algorithm: chacha
    settings:
      b: 5
    environment: {decimals: 5}
environment: {log_target: false}
"""


def digests(*mirrors):
    return lambda reference: loading.load(reference, mirrors=mirrors).digest


WRONG = [
    ("- vanilla", "- vanila", "s.yaml:6: algorithms.0.algorithm: unknown algorithm 'vanila'"),
    ("b: 5", "bb: 5", "s.yaml:9: algorithms.1.settings.bb: unknown setting of chacha 'bb'"),
    ("b: 5", "b: many", "s.yaml:9: algorithms.1.settings.b: chacha: setting b='many'"),
    ("b: 5", "keep: top", "s.yaml:9: algorithms.1.settings.keep: .* 'top-half'"),
    ("decimals: 5", "decimals: 99", "s.yaml:10: algorithms.1.environment.decimals: stream env"),
    ("max_rows: 50", "max_row: 5", "s.yaml:4: data.1.environment.max_row: .* mean 'max_rows'"),
    ("log_target: f", "log_targt: f", "s.yaml:11: environment.log_targt: .* mean 'log_target'"),
    ("sklearn:wine", "sklearn:win", "s.yaml:3: data.0.data: .* did you mean 'wine'"),
    ("sklearn:wine", "file:no.csv", "s.yaml:3: data.0.data: no.csv: no such file"),
    ("sklearn:wine", "nowhere", "s.yaml:3: data.0.data: unknown dataset 'nowhere'"),
]


def refused(path):
    """Return why a suite is refused, in one line."""
    with pytest.raises(UsageError) as error:
        check_suite(load_suite(str(path), path.parent))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_wrong_is_located(tmp_path):
    path, wrongly = tmp_path / "s.yaml", []
    for old, new, message in WRONG:
        assert old in GOOD
        path.write_text(GOOD.replace(old, new))
        if not re.search(message, said := refused(path)):
            wrongly.append((message, said))

    assert wrongly == []
    path.write_text(GOOD)
    check_suite(load_suite(str(path), tmp_path))


INCOMPARABLE = [
    ("vanilla", "linear", "linear is scored by its test error and vanilla by its progressive"),
    ("linear", "er-ucb", "er-ucb is scored by its validation score and linear by its test"),
    ("abc", "online-automl",
     "online-automl is scored by its progressive loss and abc by its test accuracy"),
    ("vanilla", "{algorithm: online-automl, environment: {log_target: true}}",
     "online-automl is scored by its progressive loss with log_target True and vanilla by its"),
    ("vanilla", "{algorithm: online-automl, environment: {max_rows: 100}}",
     "online-automl is scored by its progressive loss of at most 100 rows and vanilla by its"),
]  # fmt: skip


def test_what_one_leaderboard_cannot_compare_is_refused(tmp_path):
    path, wrongly = tmp_path / "s.yaml", []
    for first, second, message in INCOMPARABLE:
        lines = ("title: t", "data: [sklearn:diabetes]", "algorithms:", f"- {first}")
        path.write_text("\n".join([*lines, f"- {second}"]))
        if not re.search(f"s.yaml:5: algorithms.1: .*{message}", said := refused(path)):
            wrongly.append((message, said))

    assert wrongly == []


@pytest.fixture
def two_sets(tmp_path):
    """Return a mirror of two datasets, and the file of the first."""
    lines = []
    for power, name in enumerate(("one", "two"), 1):
        frame = pd.DataFrame({"a": range(50), "y": [i**power / 3 for i in range(50)]})
        frame.to_parquet(tmp_path / f"{name}.parquet")
        digest = hashlib.sha256((tmp_path / f"{name}.parquet").read_bytes()).hexdigest()
        lines.append(f"{name},{name},regression,50,1,y,{digest},CC0\n")
    (tmp_path / "catalogue.csv").write_text(COLUMNS + "".join(lines))
    return tmp_path, tmp_path / "one.parquet"


def planned(folder, *references):
    jobs = [Job("vanilla", data, 1, 1) for data in references or ("mirror:one", "mirror:two")]
    return plan(jobs, lambda _: None, digests(folder))


def test_one_content_by_two_references_is_refused_where_its_jobs_are_the_same_work(two_sets):
    folder, file = two_sets
    with pytest.raises(UsageError, match=r"on mirror:one and .* on file:.* are the same"):
        planned(folder, "mirror:one", f"file:{file}")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-100]), "damaged or was changed"),
        (lambda file: pd.DataFrame({"a": [1, 2], "y": [1, 2]}).to_parquet(file), "was changed"),
        (lambda file: file.unlink(), "the file is missing"),
    ],
    ids=["truncated", "changed", "gone"],
)
def test_a_dataset_in_trouble_costs_only_its_own_jobs(two_sets, harm, words):
    folder, file = two_sets
    sound = planned(folder)
    harm(file)
    one, two = planned(folder)

    assert [entry.reason for entry in sound] == ["", ""]
    assert words in one.reason
    assert one.key != sound[0].key
    assert two == sound[1]


@pytest.mark.parametrize("change", [{}, {"name": "two"}, {"repetition": 1}])
def test_a_result_is_reused_only_where_a_leaderboard_would_show_it(two_sets, change):
    folder, _ = two_sets
    job = Job(algorithm="vanilla", data="mirror:one", seed=1, environment_seed=1, name="one")
    known = failed(job, "timeout", "")
    (entry,) = plan([replace(job, **change)], lambda _: known, digests(folder))
    assert entry.done == (not change)
