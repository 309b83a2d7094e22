"""A user's own list of classifiers."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.evaluate.learners import pipelines

FILE = """
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

PIPELINES = {"line": LogisticRegression(C=2.0), "tree": DecisionTreeClassifier(max_depth=3)}
"""


def test_a_list_is_numbered_after_its_classes():
    own = pipelines.named(
        [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())]
    )
    assert list(own.estimators) == ["LogisticRegression-0", "Pipeline-1"]


def test_a_file_names_its_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    own = pipelines.read(path)
    line, tree = own.configurations()
    assert (line["name"], line["learner"], line["C"]) == ("line", "LogisticRegression", 2.0)
    assert own.build(tree).max_depth == 3
    assert own.build(tree) is not own.estimators["tree"]


def test_other_code_of_a_file_or_of_its_helper_gives_other_configurations(tmp_path):
    path = tmp_path / "mine.py"

    def configurations(text, depth):
        (tmp_path / "helper_of_pipes.py").write_text(f"DEPTH = {depth}")
        path.write_text(text)
        return pipelines.read(path).configurations()

    helped = FILE + "import helper_of_pipes\n"
    first = configurations(helped, 1)
    assert configurations(helped + "# said\n", 1) == first
    assert configurations(helped, 22) != first
    assert configurations(helped + "x = 1\n", 1) != first


def test_a_file_without_classifiers_is_refused(tmp_path):
    for text, message in (
     ("X = 1", "no list or mapping called PIPELINES"), ("PIPELINES = []", "at least one"),
     ("PIPELINES = [3]", "'int-0' is not a classifier"),
     ("from sklearn.linear_model import Ridge\nPIPELINES = [Ridge()]", "'Ridge-0' is not a"),
     ("PIPELINES = [", r"mine.py:1: SyntaxError: '\[' was never closed"),
     ("\nimport nowhere", "mine.py:2: ModuleNotFoundError: No module named 'nowhere'"),
     ("raise SystemExit(3)", "mine.py:1: SystemExit: 3")):  # fmt: skip
        path = tmp_path / "mine.py"
        path.write_text(text)
        with pytest.raises(LeaseboardError, match=message):
            pipelines.read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no pipelines file .*none\.py"):
        pipelines.read(tmp_path / "none.py")
