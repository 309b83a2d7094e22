"""The example of the page about champion and challenger runs as it stands there."""

import runpy
from pathlib import Path
from types import SimpleNamespace

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "comparing-forecasters.md"


def test_the_example_of_the_page_runs(capsys):
    for block in pages.blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, PAGE.name, "exec"), {})

    assert capsys.readouterr().out == "challenger\nTrue 1.0\n"
