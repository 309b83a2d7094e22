"""The parts of an installation, and the import of what users write next to it."""

import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from leaseboard.algorithms.errors import PARTS
from leaseboard.algorithms.plugins import blamed, import_file

ROOT = Path(__file__).resolve().parents[2]
IMPORTED_AS = {"scikit-learn": "sklearn", "liac-arff": "arff", "pyyaml": "yaml"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

LEARN = """
import sys
sys.modules.update(dict.fromkeys({missing}))  # as if they were not installed
import leaseboard
number, kind = leaseboard.OnlineAutoMLRegressor(), leaseboard.OnlineAutoMLClassifier()
for i in range(30):
    number.learn_one({{"a": i / 10, "c": "x"}}, 2.0 * i)
    kind.learn_one({{"a": i / 10, "c": "x"}}, i % 3)
number.predict_interval_one({{"a": 1.0}}, level=0.9), kind.predict_proba_one({{"a": 1.0}})
number.save(sys.argv[1])
leaseboard.OnlineAutoMLRegressor.load(sys.argv[1]).predict_one({{"a": 1.0}})
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def modules(requirements):
    """Return the names by which the packages of `requirements` are imported, without our own."""
    names = [Requirement(line).name for line in requirements]
    return {
        IMPORTED_AS.get(name, name.replace("-", "_")) for name in names if name != "leaseboard"
    }


@pytest.fixture
def without(monkeypatch):
    """Make packages impossible to import, as where they are not installed."""
    return lambda *names: [monkeypatch.setitem(sys.modules, name, None) for name in names]


def test_the_parts_are_those_of_the_project():
    for part, names in PARTS.items():
        assert modules(PROJECT["optional-dependencies"][part]) == set(names)
    assert not {"prefect", "mlflow", *PARTS["tables"]} & modules(PROJECT["dependencies"])


def test_a_stream_is_learned_with_the_base_alone(tmp_path):
    others = {"river", "psycopg2", "smac"}.union(*PARTS.values())
    done = subprocess.run(
        [sys.executable, "-c", LEARN.format(missing=sorted(others)), str(tmp_path / "model")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert {"numpy", "leaseboard"} <= set(done.stdout.split())


def test_a_file_is_executed_once_until_it_changes(tmp_path):
    path = tmp_path / "json.py"
    path.write_text("class Mine: depth = 1")
    module = import_file(path)

    assert import_file(path) is module
    path.write_text("class Mine: depth = 2")
    assert import_file(path).Mine.depth == 2
    assert pickle.loads(pickle.dumps(module.Mine())).depth == 1


def test_a_file_that_fails_is_not_half_imported(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("\ndepth = 1 / 0")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as raised:
            import_file(path)
        assert blamed(raised.value) == f"{path}:2: ZeroDivisionError: division by zero"

    assert set(sys.modules) == before
