"""A stored probe of a user's own class is not an answer once its code is another."""

import os
import subprocess
import sys

import pytest

MINE = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
{imported}
class Mine(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return {answer}
"""
SELECT = """
from pathlib import Path
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from tasks.automl.select import select

X, y = load_iris(return_X_y=True)
pipelines = [DummyClassifier(strategy="constant", constant=1), make_pipeline(Mine())]
found = select(pipelines, X, (y > 0) * 1, initial_rows=50, store=Path("probes.sqlite"))
print(found.name)
"""


@pytest.mark.parametrize("place", ["script", "beside"])
def test_a_class_that_changed_is_probed_again(tmp_path, place):
    """The class stands in the script, or in a module and takes its code from beside that."""
    path = os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))

    def chosen(answer):
        imported = "from beside import answer" if place == "beside" else ""
        (tmp_path / "beside.py").write_text(f"def answer(X):\n    return {answer}\n")
        mine = MINE.format(imported=imported, answer="answer(X)" if imported else answer)
        (tmp_path / "mine.py").write_text(mine)
        text = (mine if place == "script" else "from mine import Mine\n") + SELECT
        (tmp_path / "script.py").write_text(text)
        ended = subprocess.run(
            [sys.executable, "-B", "script.py"], cwd=tmp_path, text=True, capture_output=True,
            env=os.environ | {"PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    # Of the rows two thirds are 1, as the dummy says of all, and have a long third feature.
    assert chosen("0 * X[:, 2]") == "DummyClassifier-0"
    assert chosen("(X[:, 2] > 2.5) * 1") == "Pipeline-1"
