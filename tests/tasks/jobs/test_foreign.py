"""Which jobs run a user's code is read from the job alone."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.programs import is_foreign, references
from leaseboard.tasks.jobs.suites.suite import load_suite, members, suite_names
from leaseboard.tasks.machine.paths import conf_dir


def job(algorithm="vanilla", settings=None, bench=None):
    return Job(algorithm=algorithm, data="d", seed=0, environment_seed=0,
               settings=settings or {}, bench=bench or {})  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"algorithm": "mine.py:Mine"},
        {"algorithm": "/some where/mine.py:Mine"},
        {"algorithm": "chacha", "settings": {"tune": "mine.py:Bold"}},
        {"algorithm": "chacha", "settings": {"any": [{"deep": ["mine.py"]}]}},
        {"algorithm": "full-run", "bench": {"pipelines": "pipes.py"}},
    ],
)
def test_a_file_that_is_named_anywhere_makes_a_job_foreign(given):
    assert is_foreign(job(**given))
    assert list(references(job(**given)))


def test_a_class_of_a_space_makes_a_policy_s_job_foreign(tmp_path):
    space = tmp_path / "space.yaml"
    for estimator, foreign in (("mine.learner:Mine", True), ("sklearn.svm:SVC", False)):
        space.write_text(f"title: t\nsource: s\narms: {{a: {{estimator: '{estimator}'}}}}\n")
        assert is_foreign(job("average", bench={"space": str(space)})) == foreign
        assert not is_foreign(job("vanilla", bench={"space": str(space)}))


def test_nothing_that_is_shipped_is_foreign():
    assert not any(is_foreign(job(name)) for name in registry.names())
    conf = conf_dir(None)
    for name in (one for suite in suite_names(conf) for one in members(suite, conf)):
        assert not any(map(is_foreign, load_suite(name, conf).jobs())), name
