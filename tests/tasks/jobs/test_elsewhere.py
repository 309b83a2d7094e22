import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.reference.frameworks import StreamFramework
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.programs import pinned, programs
from leaseboard.tasks.jobs.run import identify
from leaseboard.tasks.keys.closure import module_file

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
