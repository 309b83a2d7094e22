import pytest

from algorithms import registry
from algorithms.reference.outside_forecaster import OutsideForecaster
from tasks.jobs.elsewhere import programs
from tasks.jobs.job import Job
from tasks.keys.closure import module_file

PEERS = [
    name
    for name in registry.names()
    if issubclass(registry.algorithm_class(name), OutsideForecaster)
]


@pytest.mark.parametrize("algorithm", PEERS)
def test_every_peers_learners_are_in_its_key(algorithm):
    (named,) = programs(Job(algorithm, "synthetic:fried", seed=0, environment_seed=0))

    learner = registry.build(algorithm, {}).learner
    assert f'"{learner}"' in module_file(named).read_text()


@pytest.mark.parametrize(
    ("algorithm", "settings", "modules"),
    [
        ("autogluon-default", {}, ["tasks.evaluate.peers.table_autogluon"]),
        ("flaml-default", {"system": "hyperopt-sklearn"},
         ["tasks.evaluate.peers.table_hyperopt_sklearn"]),
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
