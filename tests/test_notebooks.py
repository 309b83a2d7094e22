"""The notebooks of examples/ run from first cell to last, and hold figures of a real run."""

import json
import os
from pathlib import Path

import pytest

SMALLER = {
    "range(60)": "range(50, 60)",
    "time_budget=10": "max_trials=3",
    '[sys.executable, "-m", "leaseboard", *words]': '["leaseboard", *words]',
}
"""What costs much in a notebook, and what is here in its place: sizes, and a forked command."""
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def cells(notebook, kind):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path, zygote, programs):
    program = tmp_path / "cells.py"
    code = "\n\n".join("".join(cell["source"]) for cell in cells(notebook, "code"))
    for size, instead in SMALLER.items():
        code = code.replace(size, instead)
    program.write_text(code, encoding="utf-8")
    environment = {
        **os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(EXAMPLES.parent), "PATH": programs,
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }  # fmt: skip

    done = zygote.run([program], cwd=EXAMPLES, env=environment)

    assert done.returncode == 0, done.stderr[-2000:]
    assert b"Traceback" not in done.stdout
    assert [path.suffix for path in EXAMPLES.iterdir() if path.is_file()] == [".ipynb"] * len(
        NOTEBOOKS
    )


def test_each_notebook_has_a_story_and_figures_of_its_last_run():
    assert [path.stem for path in NOTEBOOKS] == ["live-model", "stream", "table"]
    for notebook in NOTEBOOKS:
        outputs = [each for cell in cells(notebook, "code") for each in cell["outputs"]]
        assert all(each["output_type"] != "error" for each in outputs), notebook
        assert any("image/png" in each.get("data", {}) for each in outputs), notebook
        assert len(cells(notebook, "markdown")) >= 3
        assert notebook.stat().st_size < 300_000
