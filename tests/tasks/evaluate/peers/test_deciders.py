import os
import sys
from pathlib import Path

import pytest

from leaseboard.algorithms.benches.samples import Decided, OutsideDecider, ProbeAsked
from leaseboard.algorithms.errors import LeaseboardError, SkipError
from leaseboard.tasks.evaluate.peers import select_program, venv
from leaseboard.tasks.evaluate.peers.deciders import PeersDeciding, SearchProcess

HELD_OUT = {"search": "grid", "folds": 1, "factor": 3, "min_resources": "exhaust"}


def halving(configurations=7, rows=9000, **settings):
    return OutsideDecider("scikit-learn", HELD_OUT | settings, configurations, rows, 100)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Makes a session of scikit-learn, or of a stand-in's script; ends it after."""
    sessions = []

    def make(which, script=None, patience=60.0, seed=3):
        if script is not None:
            file = tmp_path / "stand_in.py"
            file.write_text(script)
            monkeypatch.setattr(select_program, "__file__", str(file))
        sessions.append(SearchProcess(which, seed, patience))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def searched(session, accuracy):
    """What it asked for, and what it came to."""
    asked = []
    while not isinstance(said := session.hear(), Decided):
        asked.append(said)
        session.tell(accuracy(said))
    return asked, said


def test_scikit_learns_own_search_decides(start):
    asked, decided = searched(start(halving()), lambda each: 0.5 + each.configuration / 100)

    assert asked == [
        *(ProbeAsked(each, 3000) for each in range(7)),
        *(ProbeAsked(each, 9000) for each in (4, 5, 6)),
    ]
    assert decided.chosen == 6
    assert sorted(decided.dropped) == [0, 1, 2, 3, 4, 5]
    assert decided.dropped[0] == "0.5000 at 3000 rows is not enough"


def test_its_five_folds_are_those_of_a_sample(start):
    which = halving(2, folds=5, min_resources=1000)
    asked, decided = searched(start(which), lambda each: 0.9 - 0.1 * each.configuration)

    assert asked == [ProbeAsked(each, 1000, fold, 5) for each in (0, 1) for fold in range(5)]
    assert decided.chosen == 0


def test_its_random_search_tries_every_configuration(start):
    which = halving(search="random", min_resources=100)
    asked, _ = searched(start(which), lambda _: 0.5)

    assert sorted(each.configuration for each in asked[:7]) == list(range(7))
    assert {each.rows for each in asked[:7]} == {100}


def test_a_crash_is_no_score(start):
    """Neither the worst nor a middling one: others are preferred, however bad they are."""
    asked, decided = searched(
        start(halving()), lambda each: None if each.configuration else 0.0001
    )

    assert decided.chosen == 0
    assert decided.dropped[1] == "it failed"
    assert len(asked) == 10


def test_its_choice_is_of_the_last_round_also_where_that_crashes(start):
    """Then its refit would raise; our bench says that the choice cannot be trained."""
    asked, decided = searched(
        start(halving(3)),
        lambda each: None if each.rows == 9000 else 0.5 + each.configuration / 10,
    )

    assert asked[-1] == ProbeAsked(2, 9000)
    assert decided.chosen == 2


def test_where_all_crash_nothing_is_chosen(start):
    _, decided = searched(start(halving()), lambda _: None)

    assert decided.chosen is None


def test_one_configuration_is_chosen(start):
    _, decided = searched(start(halving(1)), lambda _: 0.5)

    assert decided == Decided(0, {})


def test_a_library_that_is_not_installed_is_skipped_with_the_mend(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard peers install optuna"):
        PeersDeciding().start(OutsideDecider("optuna", {}, 2, 100, 10), 0)


def test_a_library_runs_in_its_own_environment(start, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(venv, "python", lambda name: asked.append(name) or Path(sys.executable))
    script = 'import sys; sys.stdin.readline(); print(\'{"chosen": 0, "dropped": {}}\')'
    session = start(OutsideDecider("optuna", {}, 2, 100, 10), script)

    assert session.hear() == Decided(0, {})
    assert asked == ["optuna"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('{"configuration": 7, "rows": 100}', "configuration 7 is not from 0 to 6"),
        ('{"configuration": -1, "rows": 100}', "configuration -1 is not from 0 to 6"),
        ('{"configuration": true, "rows": 100}', "configuration True is not from 0 to 6"),
        ('{"configuration": 0, "rows": 9001}', "rows 9001 is not from 1 to 9000"),
        ('{"configuration": 0, "rows": 100.5}', "rows 100.5 is not"),
        ('{"configuration": 0, "rows": 4, "fold": 0, "folds": 5}', "rows 4 is not from 5"),
        ('{"configuration": 0, "rows": 9, "fold": 5, "folds": 5}', "fold 5 is not from 0 to 4"),
        ('{"chosen": 9, "dropped": {}}', "configuration 9 is not"),
        ('{"wish": 9}', "wish"),
        ("no JSON", "asked for 'no JSON'"),
    ],
)
def test_what_there_is_not_is_refused(start, said, message):
    script = f"import sys; sys.stdin.readline(); print({said!r})"

    with pytest.raises(LeaseboardError, match=message):
        start(halving(), script).hear()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("raise ValueError('no licence')", "ended with exit code 1: ValueError: no licence"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("print('half a line', end='')", "ended with exit code 0"),
    ],
)
def test_one_that_fails_says_its_last_word(start, script, message):
    with pytest.raises(LeaseboardError, match=message):
        start(halving(), script).hear()


def test_one_that_does_not_decide_is_not_waited_for_for_ever(start):
    session = start(halving(), "import sys; sys.stdin.read()", patience=0.1)

    with pytest.raises(LeaseboardError, match=r"over the limit of 0.1 s of wall time"):
        session.hear()


def test_who_is_closed_is_gone(start):
    session = start(halving(), "import sys; sys.stdin.read()")
    pid = session._process.pid
    session.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
