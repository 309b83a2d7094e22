"""Frameworks: their processes, their programs, and fits that are stored."""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import get_args, get_type_hints
from unittest.mock import MagicMock, Mock

import numpy as np
import pandas as pd
import pytest
import yaml

from leaseboard.algorithms.checks import Tiny, schema_of, tiny_environment
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.samples import ProbeAsked
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.errors import DataError, DivergedError, LeaseboardError, SkipError
from leaseboard.algorithms.online.schema import Origin
from leaseboard.algorithms.reference.frameworks import TableBaseline, TableSystem
from leaseboard.tasks.evaluate import framework_program, frameworks
from leaseboard.tasks.evaluate.framework_program import optuna_study, sklearn_halving
from leaseboard.tasks.evaluate.frameworks import (
    FrameworkProcess,
    SearchSession,
    StreamSession,
    SystemFits,
    venv,
)
from leaseboard.tasks.evaluate.spaces import SUITED, load_space
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.encoders import labels_of
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.database import Store
from tests.played import STAND_IN

OURS = Path(sys.executable)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a script in the place of `framework_program`, in our environment; end it after."""
    started = []

    def one(script, patience=60.0):
        file = tmp_path / "stand_in.py"
        file.write_text(STAND_IN + script)
        monkeypatch.setattr(framework_program, "__file__", str(file))
        monkeypatch.setattr(frameworks, "PATIENCE", patience)
        made = FrameworkProcess(OURS, "program", "more", who="it", budget=1e-9)
        started.append(made)
        return made

    yield one
    for each in started:
        each.close()


def test_it_answers_in_turn_and_what_it_prints_is_not_an_answer(start):
    echo = start("print('loud'); os.write(1, b'louder')\nwhile True: wire.send(wire.recv())")
    for message in (1, None, "x" * 300_000):
        echo.send(message)

    assert [echo.receive() for _ in range(3)] == [1, None, "x" * 300_000]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('ValueError: no rows'); print('Generation: 1it'); raise SystemExit(3)",
         "exit code 3: ValueError: no rows"),
        ("raise SystemExit(4)", "exit code 4: no word"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)  # fmt: skip
def test_a_program_that_ended_leaves_its_last_message(start, script, message):
    with pytest.raises(LeaseboardError, match=message):
        start(script).receive()


def test_one_that_takes_too_long_is_ended_with_the_fix(start):
    with pytest.raises(LeaseboardError, match=r"it: over the limit of 0.1 s.*: lower the budget"):
        start("time.sleep(60)", patience=0.1).receive()


def test_nothing_that_steers_python_reaches_it_and_hashes_are_the_same(
    start, monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = (
        "wire.send([hash('a'), [n for n in os.environ if n.startswith('PYTHON')], sys.argv[2:]])"
    )
    first, second = (start(said).receive() for _ in range(2))

    assert first == second
    assert first[1:] == [["PYTHONHASHSEED"], ["program", "more"]]


LINEAR = "river", "linear"
HALVING = {"search": "grid", "factor": 3, "min_resources": "exhaust"}


def halving(configurations=7, rows=9000, **settings):
    return {"settings": HALVING | settings, "configurations": configurations,
            "rows": rows, "initial_rows": 100}  # fmt: skip


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Start a session in this environment, which has River, or of a fake; end it after."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))
    sessions = []

    def make(of, script=None, which=LINEAR, patience=60.0):
        if script is not None:
            file = tmp_path / "stand_in.py"
            file.write_text(STAND_IN + script)
            monkeypatch.setattr(framework_program, "__file__", str(file))
        monkeypatch.setattr(frameworks, "PATIENCE", patience)
        if isinstance(of, Stream):
            sessions.append(StreamSession(*which, of, 3))
        else:
            sessions.append(SearchSession("scikit-learn", of, 3))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def growing(n=4):
    return Stream(np.zeros((n, 2), np.float32), np.ones(n, np.float32), schema_of("a", "b"))


def test_rivers_predictions_come_block_by_block(begin):
    stream = tiny_environment("stream", Tiny(classes=3)).stream
    whole, blocks = begin(stream), begin(stream)
    found = whole.learn_many(stream.features[:90], stream.labels[:90])
    parts = [slice(0, 1), slice(1, 50), slice(50, 90)]
    again = [blocks.learn_many(stream.features[part], stream.labels[part]) for part in parts]
    toll = whole.finish()

    assert found.shape == (90, 3)
    assert np.concatenate(again).tolist() == found.tolist()
    assert toll.cpu_seconds > 0
    assert toll.peak_memory_mb > 20


def test_a_label_that_comes_later_moves_no_prediction_before(begin):
    stream = tiny_environment("stream").stream
    other = stream.labels.copy()
    other[50:] = -other[50:]
    found = []
    for labels in (stream.labels, other):
        session, predictions = begin(stream), np.empty(100)
        for said, some in Arrival(after=24).play(session, stream.features[:100], labels[:100]):
            predictions[said] = some
        assert session.finish().cpu_seconds > 0
        found.append(predictions)

    moved = np.flatnonzero(found[0] != found[1])
    assert moved[0] == 75


def test_what_is_not_installed_is_skipped_with_the_fix(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard frameworks install river"):
        StreamSession(*LINEAR, growing(), 0)
    with pytest.raises(SkipError, match="leaseboard frameworks install optuna"):
        SearchSession("optuna", {}, 0)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("raise ValueError('no licence')", LeaseboardError,
         "river's linear ended with exit code 1 at example 0: ValueError: no licence"),
        ("raise OverflowError('math range error')", DivergedError, "OverflowError: math range"),
    ],
)  # fmt: skip
def test_one_that_fails_says_its_last_word(begin, script, kind, message):
    session = begin(growing(), script)

    with pytest.raises(LeaseboardError, match=message) as caught:
        session.learn_many(np.zeros((4, 2), np.float32), np.ones(4, np.float32))
    assert isinstance(caught.value, DivergedError) == (kind is DivergedError)


def test_categories_stay_categories(begin):
    stream = tiny_environment("stream").stream
    which = (stream.features[:, :1] > 0) * np.float32([1, -1]) + np.float32([0, 1])
    as_numbers = replace(stream, features=np.hstack([which, stream.features[:, 2:]]))
    texts = [Origin("kind", "", "u"), Origin("kind", "", "v")]
    schema = replace(stream.schema, origins=(*texts, *stream.schema.origins[2:]))
    as_categories = replace(as_numbers, schema=schema)

    rows, labels = as_numbers.features[:60], stream.labels[:60]
    reported = begin(as_numbers).learn_many(rows, labels)
    session = begin(as_categories)
    others = session.learn_many(rows, labels)

    assert session._columns == [([0, 1], True), ([2], False), ([3], False)]
    assert np.mean((others - labels) ** 2) != np.mean((reported - labels) ** 2)


def searched(session, accuracy):
    """Return what the session asked for, and its result."""
    asked = []
    while isinstance(said := session.hear(), ProbeAsked):
        asked.append(said)
        session.report(accuracy(said))
    return asked, said


def test_scikit_learns_own_search_decides(begin):
    asked, decided = searched(begin(halving()), lambda each: 0.5 + each.configuration / 100)

    assert asked == [
        *(ProbeAsked(each, 3000) for each in range(7)),
        *(ProbeAsked(each, 9000) for each in (4, 5, 6)),
    ]
    assert decided == 6


@pytest.fixture
def fits(tmp_path):
    """Make the fits of systems to four fifths of a dataset."""

    def make(data, seed=0):
        rows = split(data, (0.8, 0.2), seed)
        store = Store(tmp_path / "store.sqlite")
        return SystemFits(data, rows.train, rows.test, split={"seed": seed}, store=store), rows

    return make


def mixed(n=200):
    """Return numbers and a nominal column with gaps, and a boolean; the label is nominal."""
    kinds = np.arange(n) % 3
    features = pd.DataFrame(
        {
            'a "number"': np.where(np.arange(n) % 7, np.arange(n) / n, np.nan),
            "kind": pd.Categorical.from_codes(np.where(np.arange(n) % 11, kinds, -1), list("xyz")),
            "even": np.arange(n) % 2 == 0,
        }
    )  # fmt: skip
    target = pd.Series(pd.Categorical.from_codes(kinds, ["p", "q", "r"]))
    return Dataset("file:mixed", "mixed", features, target, "classification", "digest")


def test_gaps_and_nominal_columns_are_learned_as_the_library_advises(fits):
    for system in ("lightgbm", "forest"):
        found, rows = fits(mixed())
        predictions, cost = found.fit(system, 0, 30.0)

        assert np.mean(predictions == labels_of(mixed())[rows.test]) > 0.9
        assert 0 < cost.cpu_seconds < 30
        assert cost.spent_cpu_seconds == cost.cpu_seconds
        assert 50 < cost.peak_memory_mb < 2000


def test_a_fit_of_ours_is_run_again_when_its_space_changes(fits, monkeypatch, tmp_path):
    asked = Mock(side_effect=SkipError("not run"))
    monkeypatch.setattr(Store, "records", asked)

    def key():
        with pytest.raises(SkipError):
            fits(mixed())[0].fit("leaseboard", 0, 30.0)
        return asked.call_args.args[0]

    shipped, repeated = key(), key()
    monkeypatch.chdir(tmp_path)
    space = load_space(SUITED["classification"]).model_dump()
    (tmp_path / "conf" / "spaces").mkdir(parents=True)
    space["arms"].pop(next(iter(space["arms"])))
    name = f"{SUITED['classification']}.yaml"
    (tmp_path / "conf" / "spaces" / name).write_text(yaml.safe_dump(space, sort_keys=False))

    assert shipped == repeated != key()


def test_a_fit_is_run_once_and_replayed(fits):
    first, paid = fits(mixed())[0].fit("lightgbm", 0, 30.0)
    again, cost = fits(mixed())[0].fit("lightgbm", 0, 30.0)

    assert cost.spent_cpu_seconds == 0
    assert (cost.cpu_seconds, *again) == (paid.cpu_seconds, *first)


def test_no_label_of_a_test_row_leaves_this_process(fits):
    found, rows = fits(mixed())
    sent = found._data()

    assert set(sent) == {"train", "test", "labels"}
    assert len(sent["labels"]) == len(rows.train)


def test_dates_are_numbers_and_our_own_folds_respect_them(fits):
    data = mixed()
    data.features["day"] = pd.date_range("2026-01-01", periods=200)[::-1]
    made, rows = fits(data)
    sent, days = made._data(), list(made.dataset.features).index("day days")
    train, test = (sent[part][days][0] for part in ("train", "test"))

    assert rows.test.tolist() == list(range(40))
    assert train.max() < test.min()
    assert len(sent["cv"]) == frameworks.FOLDS
    assert all(train[before].max() < train[after].min() for before, after in sent["cv"])


def test_a_column_that_not_every_system_takes_is_refused_by_name(fits):
    data = mixed()
    data.features["said"] = pd.Series(["a long text"] * len(data.features), dtype=object)

    with pytest.raises(DataError, match="column 'said' holds free text"):
        fits(data)


class WireAlone:
    """Sender that gives one order, and keeps the answer."""

    def __init__(self, **order):
        self.order = order

    def recv(self):
        return self.order

    def send(self, answer):
        self.answer = answer


def test_a_fit_predicts_and_reports_its_cost(monkeypatch):
    class Mean:
        def fit(self, frame, labels, *, wanted):
            assert (list(frame), wanted) == (["column0", "column1"], 7)
            assert frame["column1"].cat.categories.tolist() == ["x", "y"]
            self.mean = labels.mean()

        def predict(self, frame):
            return np.full((len(frame), 1), self.mean)

    made = {"ours": lambda order: framework_program._fitting(Mean(), wanted=order["seed"])}
    monkeypatch.setattr(framework_program, "TABLE_SYSTEMS", made)
    wire = WireAlone(
        seed=7, labels=np.array([1.0, 3.0]),
        train=[(np.zeros(2), None), (np.array([0, -1]), ["x", "y"])],
        test=[(np.zeros(3), None), (np.array([1, 1, 0]), ["x", "y"])],
    )  # fmt: skip

    framework_program.predict_table(wire, "ours")

    assert wire.answer.pop("predictions") == [2.0, 2.0, 2.0]
    assert wire.answer.pop("peak_memory_mb") > 10
    assert min(wire.answer.pop(name) for name in ("cpu_seconds", "wall_seconds")) >= 0
    assert wire.answer == {}


def test_autogluon_gets_the_kind_of_labels_and_one_cpu(monkeypatch):
    calls = []

    class TabularPredictor:
        def __init__(self, *given, **options):
            calls.append((given, options))

        def fit(self, frame, **options):
            calls.append((frame["label"].tolist(), options))
            return self

        def predict(self, frame):
            return frame["x"]

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    parents = "autogluon", "fastai", "fastai.tabular"
    for name in (*parents, "autogluon.tabular", "fastai.tabular.all"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.tabular"].TabularPredictor = TabularPredictor
    frame = pd.DataFrame({"x": [1, 2, 3]})
    for task, labels, kind, metric in (
        ("classification", [0, 1, 0], "binary", "accuracy"),
        ("classification", [0, 1, 5], "multiclass", "accuracy"),
        ("regression", [0, 1, 0], "regression", "r2"),
    ):
        calls.clear()
        predict = framework_program.autogluon({"task": task, "seconds": 9})(
            frame, np.array(labels)
        )

        (given, made), (seen, fitted) = calls
        assert (given, made["problem_type"], made["eval_metric"]) == (("label",), kind, metric)
        assert (seen, fitted) == (labels, {"time_limit": 9, "num_cpus": 1, "num_gpus": 0})
        assert predict(frame).tolist() == [1, 2, 3]
        assert list(frame) == ["x"]


def test_every_system_is_an_algorithm_and_has_pins_or_runs_in_our_environment():
    reported = [TableSystem, TableBaseline]
    names = {name for cls in reported for name in get_args(get_type_hints(cls)["system"])}

    assert names == {*framework_program.TABLE_SYSTEMS}
    assert names.issuperset(framework_program.COUNTING_WALL_SECONDS)
    assert names - set(venv.names()) == {"leaseboard", "lightgbm", "forest"}


class PrunedError(Exception):
    """The stand-in's `TrialPruned`."""


class Study:
    """Stand-in of a study that tries configurations in order, and prunes below one half."""

    def __init__(self, **given):
        self.given, self.trials = given, []

    def optimize(self, objective, n_trials, catch):
        for number in range(n_trials):
            said = {}
            trial = SimpleNamespace(
                params={"configuration": number}, said=said, state="complete", value=0.0,
                suggest_categorical=lambda _, space, number=number: space[number],
                report=lambda value, step, said=said: said.update({step: value}),
                should_prune=lambda said=said: said[max(said)] < 0.5,
            )  # fmt: skip
            self.trials.append(trial)
            try:
                trial.value = objective(trial)
            except PrunedError:
                trial.state = "pruned"

    @property
    def best_trial(self):
        return max(self.trials, key=lambda each: each.value)


def test_a_trial_reports_each_sample_and_the_best_complete_one_is_chosen(monkeypatch):
    optuna, asked, studies = MagicMock(TrialPruned=PrunedError), [], []
    optuna.trial.TrialState.COMPLETE = "complete"
    optuna.create_study = lambda **given: studies.append(Study(**given)) or studies[0]
    monkeypatch.setitem(sys.modules, "optuna", optuna)

    def ask(configuration, rows):
        asked.append((configuration, rows))
        return [0.6, 0.9, 0.8, 0.3][configuration]

    settings = {"pruner": "median", "startup_trials": 5, "min_resource": "auto"}
    order = {"configurations": 4, "rows": 20_000, "initial_rows": 1000, "seed": 5}

    assert optuna_study(order | {"settings": settings}, ask) == 1
    assert asked[:4] == [(0, 1000), (0, 4000), (0, 16_000), (0, 20_000)]
    assert asked[-1] == (3, 1000)
    assert [*studies[0].trials[0].said] == [1, 4, 16, 20]
    assert studies[0].given["direction"] == "maximize"
    optuna.samplers.GridSampler.assert_called_once_with({"configuration": [0, 1, 2, 3]}, seed=5)
    optuna.pruners.MedianPruner.assert_called_once_with(n_startup_trials=5)


@pytest.fixture
def halved():
    """Halve three configurations in scikit-learn, of which each has an accuracy or fails."""

    def run(accuracy):
        def ask(configuration, rows):
            if (found := accuracy(configuration)) is None:
                raise framework_program.CannotTrainError
            return found

        settings = {"search": "grid", "min_resources": 100, "factor": 3}
        order = {"configurations": 3, "rows": 900, "seed": 5, "settings": settings}
        return sklearn_halving(order, ask)

    return run


def test_what_cannot_be_trained_is_dropped_without_a_warning(halved):
    for failing, chosen in (((), 2), ((2,), 1), ((0, 1, 2), None)):
        found = halved(lambda c, f=failing: None if c in f else 0.5 + c / 10)

        assert found == chosen
