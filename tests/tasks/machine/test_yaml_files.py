"""An unknown key is reported with its line and place at any depth of a file."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.yaml_files import load_yaml

SUITE = """\
title: t
data: ["sklearn:wine"]
algorithms: [{nam: vanilla}]
"""
SOUND = SUITE.replace("nam:", "algorithm:")
UNKNOWN = [
    (SUITE, "3: algorithms.0.nam: unknown key: the page"),
    (SOUND + "limits: {wall_second: 3}\n", "4: limits.wall_second: unknown key: the page"),
    (SOUND + "budgett: 3\n", "4: unknown key 'budgett': did you mean 'budget'? Known: "),
]


def test_an_unknown_key_is_named_with_line_and_place(tmp_path):
    path = tmp_path / "file.yaml"
    for text, message in UNKNOWN:
        path.write_text(text)
        with pytest.raises(UsageError) as error:
            load_yaml(path, Suite)
        assert str(error.value).startswith(f"{path}:{message}")
