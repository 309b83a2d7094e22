"""Several suites as one: which, and what they may not have in common."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import Suite, check_apart, load_suites
from leaseboard.tasks.machine import environment

SUITE = "title: t\ndata: ['sklearn:wine']\nalgorithms: [vanilla]\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "conf" / "suites"
    folder.mkdir(parents=True)

    def put(**files):
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text)
        return tmp_path / "conf"

    return put


WRONG = [
    ("title: t\nsuites: [a, a]\n", "both.yaml: suites: a occurs twice"),
    ("title: t\nsuites: [a, group]\n", "group is a group of suites: name one of a"),
    ("title: t\nsuites: [aa]\n", "unknown suite 'aa': did you mean 'a'"),
    ("title: t\nsuites: []\n", "at least 1 item"),
    ("title: t\nsuites: [a]\nseed: 1\n", "unknown key 'seed'"),
]


def test_what_is_wrong_is_one_clear_line(write):
    for text, words in WRONG:
        conf = write(a=SUITE, both=text, group="title: t\nsuites: [a]\n")
        with pytest.raises(UsageError) as error:
            load_suites("both", conf)
        assert words in str(error.value)
        assert "\n" not in str(error.value)


def test_one_name_on_one_dataset_belongs_to_one_suite():
    common = {"title": "t", "data": ["sklearn:wine"]}
    first = Suite.model_validate(common | {"name": "a", "algorithms": ["vanilla"]})
    other = Suite.model_validate(common | {"name": "b", "algorithms": ["online-automl"]})
    check_apart([first, other])
    double = Suite.model_validate(
        common | {"name": "b", "algorithms": ["online-automl", "vanilla"]}
    )
    with pytest.raises(UsageError, match="vanilla on sklearn:wine is in a and in b"):
        check_apart([first, double])


def test_ci_holds_every_system_with_baselines():
    conf = environment.shipped_conf()
    found = load_suites("ci", conf)[1]
    check_apart(found)
    names = {one.algorithm for suite in found for one in suite.algorithms}
    systems = {"online-automl", "apple", "rising-bandits", "er-ucb", "abc"}
    baselines = {"vanilla", "linear", "quadratic", "average", "c-ucb", "full-run"}
    assert systems | baselines <= names
    required = {requirement.algorithm for suite in found for requirement in suite.requirements}
    assert systems <= required
