"""What looks at an installation and lists what there is."""

import os
import subprocess
import sys
from pathlib import Path

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.flows.commands.listing import _settings


def test_every_setting_of_every_algorithm_has_its_default_and_values():
    rows = {name: _settings(name) for name in registry.names()}
    found = {name: [row[0] for row in settings] for name, settings in rows.items()}
    bare = [name for name, each in rows.items() if not all(all(row) for row in each)]

    assert found == {name: list(settings_of(registry.build(name))) for name in rows}
    assert bare == []


WITHOUT_FLOWS = """
import sys
from leaseboard.algorithms.errors import PARTS

class Missing:
    def find_spec(self, name, _path, _target=None):
        if name.partition(".")[0] in PARTS["flows"]:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in PARTS["flows"] else found(name)
from leaseboard.flows.cli import main
main(["doctor"])
"""


def test_doctor_works_where_only_tables_are_installed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FLOWS], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tracking store: MLflow is not installed: pip install" in done.stdout
    assert "BAD" not in done.stdout


def test_a_model_without_a_champion_names_where_it_is_set(call, store, tmp_path):
    (tmp_path / "d.csv").write_text(
        "a,y\n" + "".join(f"{i % 7},{i % 7 * 2.5}\n" for i in range(80))
    )
    call("race", "vanilla", "d.csv", "--register", "sales", code=0)
    said = call("predict", "models:/sales@champion", "d.csv", code=64).err
    assert "give a version of sales that alias in MLflow's pages" in said
