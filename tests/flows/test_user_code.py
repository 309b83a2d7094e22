"""All code of a user's that a job reaches is found when it runs, and counts in its key."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from leaseboard.tasks.folder import results

DATA = "synthetic:fried?rows=200&seed=0"


def test_code_that_an_option_of_the_environment_names_counts(command, tmp_path, monkeypatch):
    """Also what only its file imports: an edit of it alone is another job."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.syspath_prepend(own)
    (own / "space.yaml").write_text("{title: t, source: s, arms: {a: {estimator: 'helper:Mine'}}}")
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['sklearn:iris']\nbaselines: false\n"
        "algorithms: [average]\nenvironment: {space: own/space.yaml}\n"
    )
    keys = []
    for text in ("DEPTH = 1", "DEPTH = 1", "DEPTH = 23"):
        (own / "helper.py").write_text(text)
        code, out, err = command("run", "s.yaml", "--dry-run")
        assert code == 0, err
        keys.append(out.splitlines()[1].split()[-3])

    assert keys[0] == keys[1] != keys[2]


HELPED = """
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm
from helper import SAID

@dataclass(frozen=True, kw_only=True)
class Helped(Algorithm):
    environment = "stream"

    def run(self, env, seed):
        from lazily import FACTOR
        yield from env.record(np.full(env.budget, SAID * FACTOR, np.float32))
"""


def test_a_module_next_to_a_users_file_is_found_and_counts(command, tmp_path):
    """An edit of a helper alone is another job, wherever the command was called."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(HELPED)
    (tmp_path / "own" / "lazily.py").write_text("FACTOR = 1")
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['{DATA}']\nbaselines: false\nalgorithms: ['own/mine.py:Helped']\n"
    )
    scores, made = [], []
    for said in (0, 0, 5):
        (tmp_path / "own" / "helper.py").write_text(f"SAID = {said}")
        code, _, err = command("run", "s.yaml", "--local", "--workers", "1")
        assert code == 0, err
        scores.append(
            float(pd.read_parquet(tmp_path / "runs" / "s" / results.TABLE).score.iloc[0])
        )
        made.append(len(list((tmp_path / "runs" / "s" / "jobs").iterdir())))

    assert scores[0] == scores[1] != scores[2]
    assert made == [1, 1, 2]


SPACE = """
title: a learner
source: mine
arms:
  gbm:
    estimator: "lightgbm:LGBMClassifier"
    hyperparameters: {n_estimators: {type: int, low: 5, high: 20, default: 10}}
"""


def test_files_in_the_current_folder_hide_no_module_of_ours_or_of_libraries(
    tmp_path, environment, empty_store
):
    """For any names: neither in this process nor in those that it starts."""
    shutil.copy(empty_store, tmp_path / "m.db")
    for name in ("lightgbm", "calendar", "random", "tasks", "numpy", "logging"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('notes of mine')")
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['sklearn:wine']\nbaselines: false\nalgorithms: [average]\nbudget: 1\n"
        "environment: {space: space.yaml}\n"
    )
    program = Path(sys.executable).with_name("leaseboard")
    words = ["run", "s.yaml", "--local", "--workers", "1", "--tracking-uri"]
    ended = subprocess.run(
        [program, *words, f"sqlite:///{tmp_path / 'm.db'}"], cwd=tmp_path, text=True,
        capture_output=True, check=False,
        env=os.environ | {"LEASEBOARD_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout + ended.stderr
    (made,) = results.read_results(tmp_path / "runs" / "s")
    assert made.status == "ok"
    assert not made.metrics.get("failed_trials")
