"""Code that a job runs and that is not of this installation."""

from leaseboard.algorithms import registry
from leaseboard.tasks.evaluate import venv
from leaseboard.tasks.jobs.described import is_untrusted
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import identify
from leaseboard.tasks.jobs.suites.suite import load_suites, suite_names
from leaseboard.tasks.machine.environment import conf_dir


def job(algorithm="vanilla", environment=None):
    given = environment or {}
    return Job(algorithm, data="d", seed=0, environment_seed=0, environment=given)


def test_a_file_that_is_named_makes_a_job_untrusted():
    for name in ("mine.py:Mine", "/some where/mine.py:Mine"):
        assert is_untrusted(job(name)), name
        assert registry.files_of(name), name


def test_a_class_of_a_space_makes_a_policy_s_job_untrusted(tmp_path):
    space = tmp_path / "space.yaml"
    for estimator, untrusted in (("mine.learner:Mine", True), ("sklearn.svm:SVC", False)):
        space.write_text(f"title: t\nsource: s\narms: {{a: {{estimator: '{estimator}'}}}}\n")
        assert is_untrusted(job("average", environment={"space": str(space)})) == untrusted
        assert not is_untrusted(job("vanilla", environment={"space": str(space)}))


def test_nothing_that_is_shipped_is_untrusted():
    assert not any(is_untrusted(job(name)) for name in registry.names())
    conf = conf_dir(None)
    for suite in (one for name in suite_names(conf) for one in load_suites(name, conf)[1]):
        each = {found.name: found for found in suite.jobs()}  # seeds and data name no code
        assert not any(map(is_untrusted, each.values())), suite.name


def test_other_pins_are_another_job(monkeypatch, tmp_path):
    newer = tmp_path / "newer.txt"
    newer.write_text("river==99.0\n")
    for name in ("river-arf", "optuna-median", "flaml-default"):
        given = job(name), registry.algorithm_class(name).environment
        version, before, _ = identify(*given)
        with monkeypatch.context() as patch:
            patch.setattr(venv, "pins", lambda _: newer)
            assert identify(*given)[0] == version
            assert identify(*given)[1] != before, name
