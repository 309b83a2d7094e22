from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import Unit
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.evaluate import spaces
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.environments import pulls
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from tests.environments import environment_of

WINE = {"space": "fast", "arms": ["gaussian_nb", "k_nearest_neighbors"]}
GAUSSIANS = "synthetic:seven-gaussians?rows=5000"


def job(algorithm="average", data="sklearn:wine", budget=8.0, environment=WINE, seed=0):
    return Job(algorithm, data, seed, seed, budget=budget, environment=environment)


def played(job, dataset=None):
    env = environment_of("pulls", dataset or load(job.data), job)
    auditor = Auditor()
    for event in play(job.algorithm, registry.build(job.algorithm, job.settings), env, job.seed):
        auditor(event)
    auditor.close()
    return env


def test_a_regression_needs_a_space_of_regressors():
    with pytest.raises(UsageError, match=r"is for classification.* or leave it out"):
        environment_of("pulls", load("sklearn:diabetes"), job(data="sklearn:diabetes"))
    env = played(
        job(data="sklearn:diabetes", environment={"space": "tables-regression", "arms": ["ridge"]})
    )
    assert env.score().metric == "validation_reward"
    assert 0.5 < env.score().value < 1


@pytest.mark.parametrize(
    ("algorithm", "data", "space", "arm"),
    [("rising-bandits-cost", "sklearn:diabetes", "tables-regression", "ridge"),
     ("er-ucb-auto", "sklearn:wine", "tables-classification", "qda")],
)  # fmt: skip
def test_a_space_that_is_not_named_is_of_the_datas_task(algorithm, data, space, arm):
    asked = {"arms": [arm]}
    plain, named = (
        played(job(algorithm, data, 2.0, env)).score()
        for env in (asked, {**asked, "space": space})
    )

    assert plain == named
    assert (
        tuple(spaces.load_space(space).arms)
        == environment_of("pulls", load(data), job(algorithm, data, 30.0, {})).arms
    )


def test_a_budget_in_seconds_is_spent_and_replayed():
    """Recorded trials cost what they did, and nothing again; the last one what is left."""
    one = {**WINE, "arms": ["gaussian_nb"]}
    cost = played(job(environment=one, budget=4.0)).cost.cpu_seconds
    again = played(job(environment={**one, "unit": "cpu_seconds"}, budget=0.999 * cost))

    assert again.at == pytest.approx(0.999 * cost)
    assert again.pulls == [4]
    assert again.cost.spent_cpu_seconds == 0


def test_a_table_of_feedbacks_needs_no_store():
    env = played(job("er-ucb", GAUSSIANS, 1000.0, {"protocol": "table"}))

    score = env.score()
    assert (score.metric, score.value) == ("best_feedback", pytest.approx(1.06, abs=0.06))
    assert score.metrics["exploitation.arm1"] > 0.8


@pytest.mark.parametrize("seed", [1, 2])
def test_curves_keep_the_order_of_the_rows_for_any_seed(seed):
    arms = "synthetic:rising-arms?rows=20"
    env = played(job("average", arms, 40.0, {"protocol": "curves"}, seed=seed))
    assert env.score().value == pytest.approx(0.85 - 0.25 / 10, abs=1e-6)


def test_a_table_that_is_too_short_or_holds_no_numbers_is_refused():
    short = "synthetic:seven-gaussians?rows=10"
    with pytest.raises(UsageError, match="holds 10 feedbacks an arm"):
        played(job("c-ucb", short, 200.0, {"protocol": "table"}))
    data = load(GAUSSIANS)
    data.features["arm1"] = data.features["arm1"].where(data.features["arm1"] < 0.9)
    with pytest.raises(DataError, match="column 'arm1' is not an arm's feedback"):
        environment_of("pulls", data, job(data=GAUSSIANS, environment={"protocol": "table"}))
    with pytest.raises(UsageError, match="cost no cpu_seconds"):
        played(job("c-ucb", GAUSSIANS, 5.0, {"protocol": "table", "unit": "cpu_seconds"}))
    with pytest.raises(UsageError, match="no hyperparameters to tune jointly"):
        played(job("tpe-joint", GAUSSIANS, 20.0, {"protocol": "table"}))


def test_a_class_that_only_the_test_rows_hold_is_an_error_of_the_model_not_of_the_environment():
    data = load("sklearn:wine")
    said = np.where(data.target == "class_0", "test", "train")
    data = replace(data, features=data.features.assign(split=said))
    env = played(
        job(environment={**WINE, "protocol": "cv", "folds": 2, "split_column": "split"}), data
    )

    assert env.score().metrics["test"] == 0.0


def test_arms_are_tuned_as_in_the_paper_of_a_policy_and_results_have_every_option(tmp_path):
    def options(name, **given):
        asked = job(name, GAUSSIANS, 7, environment={"protocol": "table", **given})
        return run_job(asked, tmp_path).environment_options

    for name in ("er-ucb", "er-ucb-auto", "c-ucb", "epsilon-greedy", "softmax", "random-arm"):
        assert options(name) == pulls.Options(protocol="table", optimiser="random").model_dump()
        assert options(name, optimiser="tpe")["optimiser"] == "tpe"
    assert options("rising-bandits") == pulls.Options(protocol="table").model_dump()


def test_another_content_of_a_space_is_another_job(tmp_path):
    mine = tmp_path / "mine.yaml"
    text = "{title: t, source: s, arms: {nb: {estimator: 'sklearn.naive_bayes:GaussianNB'}}}"
    identities = set()
    for content in (text, text, text.replace("nb:", "bayes:")):
        mine.write_text(content)
        identities.add(environments.resolve("pulls", {"space": str(mine)}).identity())

    assert len(identities) == 2
    assert environments.resolve("pulls", {"protocol": "table"}).identity() == ""
    assert all(
        spaces.digest(spaces.load_space(name)) in environments.resolve("pulls", {}).identity()
        for name in spaces.SUITED.values()
    )


@pytest.mark.parametrize("unit", get_args(Unit))
def test_every_unit_has_a_budget_of_its_own_if_none_is_given(unit):
    given = job(budget=None, environment={**WINE, "unit": unit})
    made = environment_of("pulls", load("sklearn:wine"), given)
    assert (made.unit, made.budget) == (unit, pulls.DEFAULT_BUDGET[unit])
