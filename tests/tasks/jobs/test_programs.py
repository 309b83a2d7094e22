"""Code that a job runs and that is not of this installation."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.reference.frameworks import StreamFramework
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.programs import is_foreign, pinned, programs, references
from leaseboard.tasks.jobs.run import identify
from leaseboard.tasks.jobs.suites.suite import load_suite, members, suite_names
from leaseboard.tasks.keys.closure import module_file
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


PEERS = [
    name
    for name in registry.names()
    if issubclass(registry.algorithm_class(name), StreamFramework)
]


@pytest.mark.parametrize("algorithm", PEERS)
def test_every_peers_learners_are_in_its_key(algorithm):
    (named,) = programs(Job(algorithm, "synthetic:fried", seed=0, environment_seed=0))

    learner = registry.build(algorithm, {}).learner
    assert f'"{learner}"' in module_file(named).read_text()


@pytest.mark.parametrize(
    ("algorithm", "settings", "modules"),
    [
        ("autogluon-default", {}, []),
        ("flaml-default", {"system": "hyperopt-sklearn"},
         ["leaseboard.tasks.evaluate.frameworks.table_hyperopt_sklearn"]),
        ("flaml-default", {}, []),
        ("lightgbm-default", {}, []),
    ],
)  # fmt: skip
def test_a_system_on_tables_has_the_file_that_sets_it_up(algorithm, settings, modules):
    job = Job(algorithm, "sklearn:wine", seed=0, environment_seed=0, settings=settings)

    assert programs(job) == modules
    assert all(map(module_file, modules))


def test_a_users_file_has_none(tmp_path):
    mine = f"{tmp_path / 'mine.py'}:Mine"

    assert programs(Job(mine, "synthetic:fried", seed=0, environment_seed=0)) == []


@pytest.mark.parametrize(
    "algorithm", ["river-arf", "optuna-median", "flaml-default", "tpot-light"]
)
def test_other_pins_are_another_job(algorithm, monkeypatch, tmp_path):
    job = Job(algorithm, "sklearn:wine", seed=0, environment_seed=0)
    bench = registry.algorithm_class(algorithm).bench
    version, before = identify(job, bench)
    newer = tmp_path / "newer.txt"
    newer.write_text("river==99.0\n")
    monkeypatch.setattr(venv, "pins", lambda _: newer)

    assert identify(job, bench)[0] == version
    assert identify(job, bench)[1] != before


@pytest.mark.parametrize("algorithm", ["chacha", "sklearn-halving", "lightgbm-default"])
def test_what_runs_here_has_no_pins(algorithm):
    assert pinned(Job(algorithm, "sklearn:wine", seed=0, environment_seed=0)) == ""
