"""Suites: what is wrong with one, its seeds, its naive baselines."""

from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite, load_suites, suite_names
from leaseboard.tasks.machine.yaml_files import load_yaml

MINIMAL = "title: t\ndata: ['sklearn:wine']\nalgorithms: [vanilla]\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    return path


def message(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        load_yaml(write(tmp_path, text), Suite)
    text = str(error.value)
    assert "\n" not in text
    return text


AGAIN = MINIMAL.replace("[vanilla]", "[vanilla, {algorithm: vanilla, name: again}]")
ADDITIONS = [
    ("repetitions: 0", "greater than or equal to 1"),
    ("seeds: [-1]", "greater than or equal to 0"),
    ("limits: {memory_mb: -5}", "greater than 0"),
    ("tracking: {configurations: some}", "must match pattern"),
    ("normalise: {zero: vanilla, one: unknown}", "not an algorithm here"),
    ("title: again", "occurs twice"),
    ("budget: [", "suite.yaml:5"),
    ("repetitions: 1000000000", "repetitions must be less"),
    ("repetitions: 1e9", "must be a valid integer"),
    ("seeds: [9999999999]", "less than 2147483648"),
    ("budget: .inf", "less than or equal to 1000000000000000"),
    ("limits: {wall_seconds: .inf}", "less than or equal to 1000000000"),
    ("? " + "x" * 2000 + "\n: 1", "unknown key 'xxxx"),
]
WRONG = [
    *((MINIMAL + addition + "\n", words) for addition, words in ADDITIONS),
    (MINIMAL + "budgett: 3\n", "suite.yaml:4: unknown key 'budgett': did you mean 'budget'?"),
    (MINIMAL.replace("algorithms:", "algoritms:"), "'algoritms': did you mean 'algorithms'?"),
    (MINIMAL + "environment: {2: 3}\n", "suite.yaml:4: environment.2"),
    (MINIMAL + "limits:\n  wall_seconds: soon\n", "suite.yaml:5: limits.wall_seconds must"),
    (MINIMAL.replace("vanilla]", "vanilla, vanilla]"), "name 'vanilla' occurs twice"),
    (MINIMAL.replace("wine']", "wine', 'sklearn:wine']"), "data 'sklearn:wine' occurs twice"),
    (
        MINIMAL.replace("vanilla", "x" * 50_000),
        "suite.yaml:3: algorithms.0.algorithm must have at most",
    ),
    (
        AGAIN.replace("name: again", "name: " + "x" * 50_000),
        "suite.yaml:3: algorithms.1.name must",
    ),
]


def test_what_is_wrong_is_one_short_line(tmp_path):
    said = {words: message(tmp_path, text) for text, words in WRONG}

    assert [words for words, line in said.items() if words not in line or len(line) > 4000] == []


def test_listed_seeds_are_literal_and_derived_ones_share_the_environment():
    common = {"title": "t", "data": ["a", "b"], "algorithms": ["vanilla", "exhaustive"]}
    listed = Suite.model_validate(common | {"seeds": [7, 8]}).jobs()
    derived = Suite.model_validate(common | {"repetitions": 2}).jobs()

    assert {(job.seed, job.environment_seed) for job in listed} == {(7, 7), (8, 8)}
    assert len({job.seed for job in derived}) == len(derived) == 8
    assert len({job.environment_seed for job in derived}) == 4
    assert derived[0].environment_seed == derived[1].environment_seed


def test_every_shipped_suite_is_valid_and_names_known_algorithms():
    conf = Path(__file__).resolve().parents[4] / "conf"

    assert {"quick", "ci", "paper-chacha"} <= set(suite_names(conf))
    found = {each.name: each for name in suite_names(conf) for each in load_suites(name, conf)[1]}
    for suite in found.values():
        check_suite(suite)


def of(*algorithms, **keys):
    return Suite.model_validate({"title": "t", "data": ["sklearn:diabetes"]} | keys
                                | {"algorithms": list(algorithms)})  # fmt: skip


def names(suite):
    return [one.algorithm for one in suite.algorithms]


NAIVE = ["running-mean", "last-label", "seasonal-last", "online-ridge"]


def test_a_suite_on_streams_runs_the_naive_baselines_that_it_does_not_name():
    assert names(with_baselines(of("online-automl", "vanilla"))) == [
        "online-automl",
        "vanilla",
        *NAIVE,
    ]
    season = {"algorithm": "seasonal-last", "name": "a day", "settings": {"period": 24}}
    assert names(with_baselines(of(season, "online-ridge"))) == [
        "seasonal-last", "online-ridge", "running-mean", "last-label",
    ]  # fmt: skip
    whole = with_baselines(of("online-automl", *NAIVE))
    assert names(whole) == ["online-automl", *NAIVE]


def test_baselines_see_the_rows_and_the_target_that_the_algorithms_see():
    environment = {"log_target": False, "max_rows": 50}
    added = with_baselines(
        of("apple", {"algorithm": "online-automl", "environment": environment})
    ).algorithms[2:]
    assert [one.environment for one in added] == [environment] * 4


@pytest.mark.parametrize(
    ("algorithms", "keys"),
    [(["apple"], {}), (["rising-bandits"], {}), (["online-automl"], {"baselines": False}),
     (["no-such-name"], {}), (["no-such-file.py:Mine"], {})],
)  # fmt: skip
def test_a_suite_on_no_stream_or_that_says_so_stays_what_it_is(algorithms, keys):
    suite = of(*algorithms, **keys)
    assert with_baselines(suite) is suite
