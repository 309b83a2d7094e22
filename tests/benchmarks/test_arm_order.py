from benchmarks import arm_order
from leaseboard.algorithms import registry
from leaseboard.tasks.evaluate.trials.spaces import load_space
from leaseboard.tasks.jobs.environments.pulls import Options
from leaseboard.tasks.jobs.suites.suite import load_suite


def test_no_set_of_the_suite_is_in_the_prior():
    judged = {each.data.split(":")[1].split("?")[0] for each in load_suite("policies", None).data}

    assert not judged & {name.split(":")[1] for name in arm_order.SETS}


def test_the_suite_names_every_arm_once():
    suite = load_suite("policies", None)
    (ordered,) = {each.name: each for each in suite.jobs() if "ordered" in each.name}.values()
    policy = registry.build(ordered.algorithm, ordered.settings)

    assert sorted(policy.first) == sorted(load_space("policies").arms)


def test_the_better_arm_has_the_lower_rank():
    options = Options(space="fast", trial_cpu_seconds=5.0)
    found = arm_order.ranks(["sklearn:wine"], options, repetitions=2)

    assert found["lda"] < found["bernoulli_nb"]
    assert found.is_monotonic_increasing
