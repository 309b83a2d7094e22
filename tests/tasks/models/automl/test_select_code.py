"""A stored probe of a user's own class is not an answer once its code is another."""

import os
import sys

MINE = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
{imported}
class {name}(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return {answer}
"""
SELECT = """
from pathlib import Path
from mine import Imported
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from leaseboard import SelectionSearch

X, y = load_iris(return_X_y=True)
for mine in (Written(), Imported()):
    pipelines = [DummyClassifier(strategy="constant", constant=1), make_pipeline(mine)]
    store = Path(f"{type(mine).__name__}.sqlite")
    search = SelectionSearch(pipelines, initial_rows=50, store=store).fit(X, (y > 0) * 1)
    print(search.best_name_, flush=True)
"""


def test_a_class_that_changed_is_probed_again(tmp_path, zygote):
    """Write one class in the script, one in a module that takes its code from next to it."""
    path = os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))
    imported = MINE.format(
        imported="from next_to import answer", name="Imported", answer="answer(X)"
    )
    (tmp_path / "mine.py").write_text(imported)

    def chosen(answer):
        (tmp_path / "next_to.py").write_text(f"def answer(X):\n    return {answer}\n")
        written = MINE.format(imported="", name="Written", answer=answer)
        (tmp_path / "script.py").write_text(written + SELECT)
        ended = zygote.run(["script.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": path})
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode().split()

    # Of the rows two thirds are 1, as the dummy says of all, and have a long third feature.
    assert chosen("0 * X[:, 2]") == ["DummyClassifier-0"] * 2
    assert chosen("(X[:, 2] > 2.5) * 1") == ["Pipeline-1"] * 2
