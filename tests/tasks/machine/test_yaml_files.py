"""An unknown key is reported in one form at any depth of a file."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.spaces import Space
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.yaml_files import load_yaml

SUITE = """\
title: t
data: ["sklearn:wine"]
algorithms: [{nam: vanilla}]
"""
SPACE = """\
title: t
source: s
arms:
  forest:
    estimator: e
    hyperparameters: {low: {type: int, lw: 1, high: 2, default: 1}}
"""


SOUND = SUITE.replace("nam:", "algorithm:")
UNKNOWN = [
    (Suite, SUITE, "3: algorithms.0.nam: unknown key 'nam': did you mean 'name'?"),
    (Suite, SOUND + "limits: {wall_second: 3}\n",
     "4: limits.wall_second: unknown key 'wall_second': did you mean 'wall_s"),
    (Suite, SOUND + "normalise: {zer: vanilla, one: vanilla}\n",
     "4: normalise.zer: unknown key 'zer': did you mean 'zero'?"),
    (Space, SPACE, "6: arms.forest.hyperparameters.low.lw: unknown key 'lw': did you mean '"),
    (Space, SPACE.replace("lw", "low") + "    most_row: 3\n",
     "7: arms.forest.most_row: unknown key 'most_row': did you mean 'most_rows'?"),
]  # fmt: skip


def test_an_unknown_key_names_line_place_and_nearest(tmp_path):
    path = tmp_path / "file.yaml"
    for model, text, message in UNKNOWN:
        path.write_text(text)
        with pytest.raises(UsageError) as error:
            load_yaml(path, model)
        assert str(error.value).startswith(f"{path}:{message}")
        assert "? Known: " in str(error.value)
