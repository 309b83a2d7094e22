"""The examples of the how-to run as they stand there, one after the other."""

import runpy
from pathlib import Path
from types import SimpleNamespace

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "how-to" / "learn-many-streams.md"


def test_the_examples_of_the_page_print_what_they_say(capsys):
    known = {}
    said = []
    for block in pages.blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, PAGE.name, "exec"), known)
            said += [
                line.rpartition("  # ")[2] for line in block.text.splitlines() if "print" in line
            ]

    assert capsys.readouterr().out.splitlines() == said
