import json
import sys
import time
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from leaseboard.algorithms.reference import tables
from leaseboard.tasks.evaluate.peers import fits, inside, table_program, venv

FOLDER = Path(table_program.__file__).parent


def test_the_program_forecasts_and_tells_what_is_not_the_fits(tmp_path, monkeypatch):
    class Mean:
        def fit(self, frame, labels, *, wanted):
            assert (list(frame), wanted) == (["column0", "column1"], 7)
            assert frame["column1"].cat.categories.tolist() == ["x", "y"]
            self.mean = labels.mean()

        def predict(self, frame):
            return np.full((len(frame), 1), self.mean)

    request = {"seed": 7, "columns": [{"categories": None}, {"categories": ["x", "y"]}]}
    (tmp_path / "request.json").write_text(json.dumps(request))
    np.savez(tmp_path / "data.npz", labels=np.array([1.0, 3.0]),
             train_0=np.zeros(2), train_1=np.array([0, -1], dtype=np.int8),
             test_0=np.zeros(3), test_1=np.array([1, 1, 0], dtype=np.int8))  # fmt: skip
    made = {"ours": lambda asked: (Mean(), {"wanted": asked["seed"]})}
    monkeypatch.setattr(table_program, "SYSTEMS", made)

    table_program.main(inside, "ours", str(tmp_path))

    assert np.load(tmp_path / "forecasts.npy").tolist() == [2.0, 2.0, 2.0]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert [len(answer.pop(name)) for name in ("setup", "forecast")] == [2, 2]
    assert answer.pop("peak_memory_mb") > 10
    assert answer == {}


def test_a_system_with_a_file_of_its_own_is_made_by_it(monkeypatch):
    monkeypatch.setattr(time, "time", ours := time.time)
    monkeypatch.setitem(sys.modules, "autogluon", None)

    with pytest.raises(ModuleNotFoundError, match="autogluon"):
        table_program.made(inside, "autogluon", {"task": "regression", "seconds": 1})

    assert time.time is not ours


def test_a_clock_of_cpu_time_stands_still_while_a_system_waits(monkeypatch):
    monkeypatch.setattr(time, "time", time.time)
    table_program._count_cpu_time()

    cpu, began = time.process_time(), time.time()
    time.sleep(0.1)

    assert time.time() - began <= time.process_time() - cpu + 1e-6  # what a float leaves of it


@pytest.mark.parametrize("system", ["lightgbm", "forest"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_systems_are_made_for_their_task_with_the_seed(system, task):
    model, options = table_program.SYSTEMS[system]({"task": task, "seed": 7, "seconds": 1})

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    assert (last.random_state, last.n_jobs, options) == (7, 1, {})
    assert hasattr(last, "predict_proba") == (task == "classification")


def test_every_system_is_an_algorithm_and_has_pins_or_runs_in_our_environment():
    told = [tables.TableSystem, tables.TableBaseline]
    names = {name for cls in told for name in get_args(get_type_hints(cls)["system"])}

    beside = {name for name in names if table_program.module_of(name)}
    assert names == {*table_program.SYSTEMS, *beside}
    assert all((FOLDER / f"{table_program.module_of(name)}.py").is_file() for name in beside)
    assert names.issuperset(table_program.COUNTING_WALL_SECONDS)
    libraries = {fits.library(name) for name in names}
    assert libraries - set(venv.names()) == {"leaseboard", "lightgbm", "forest"}
