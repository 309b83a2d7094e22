"""The examples of the how-to run as they stand there, one after the other."""

import runpy
from pathlib import Path
from types import SimpleNamespace

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "how-to" / "select-a-configuration.md"


def test_the_examples_of_the_page_run(capsys):
    known = {}
    for block in pages.blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, PAGE.name, "exec"), known)

    told = capsys.readouterr().out.splitlines()
    assert told[0] == "logistic"
    assert told[-1] == "['logisticregression__C']"
