import json
import time

import numpy as np
import pytest

from tasks.evaluate.peers import table_program


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

    table_program.main("ours", tmp_path)

    assert np.load(tmp_path / "forecasts.npy").tolist() == [2.0, 2.0, 2.0]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert {name: len(seconds) for name, seconds in answer.items()} == {"setup": 2, "forecast": 2}


def test_a_clock_of_cpu_time_stands_still_while_a_system_waits(monkeypatch):
    monkeypatch.setattr(time, "time", time.time)
    table_program._count_cpu_time()

    began = time.time()
    time.sleep(0.2)

    assert time.time() - began < 0.1


@pytest.mark.parametrize("system", ["lightgbm", "forest"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_systems_are_made_for_their_task_with_the_seed(system, task):
    model, options = table_program.SYSTEMS[system]({"task": task, "seed": 7, "seconds": 1})

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    assert (last.random_state, last.n_jobs, options) == (7, 1, {})
    assert hasattr(last, "predict_proba") == (task == "classification")
