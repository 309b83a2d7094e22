"""What MLflow runs to load a model, in a process where a folder hides our package."""

import os
import subprocess
import sys
from pathlib import Path

from leaseboard.tasks.models import columns, logged

ROOT = Path(__file__).resolve().parents[3]
FRIED = "synthetic:fried?rows=400&seed=0"
LOAD = "import mlflow, sys; mlflow.pyfunc.load_model(sys.argv[1]); print('loaded')"


def test_a_model_loads_or_says_in_one_line_what_hides_ours(race, tmp_path):
    _, _, fitted = race("linear", FRIED)
    model, project = tmp_path / "model", tmp_path / "project"
    (project / "tasks").mkdir(parents=True)
    (project / "tasks" / "__init__.py").touch()
    logged._write(model, fitted.model, columns.example(fitted.dataset.features), "m-1")

    def load(*options):
        return subprocess.run(
            [sys.executable, *options, "-c", LOAD, str(model)],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    hidden, shown = load(), load("-P")

    assert hidden.returncode != 0
    assert "No module named" not in hidden.stderr
    assert (
        f"{project / 'tasks'} hides Leaseboard's package 'tasks'"
        in (hidden.stderr.splitlines()[-1])
    )
    assert shown.stdout == "loaded\n", shown.stderr
