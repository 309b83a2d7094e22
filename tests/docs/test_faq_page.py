"""The answers run as they stand, one after the other, and print what they say."""

import runpy
from pathlib import Path
from types import SimpleNamespace

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "faq.md"


def test_the_answers_print_what_they_say(capsys):
    known, said = {}, []
    for block in pages.blocks(PAGE):
        exec(compile(block.text, PAGE.name, "exec"), known)
        said += [line.rpartition("  # ")[2] for line in block.text.splitlines()
                 if line.startswith("print")]  # fmt: skip

    assert capsys.readouterr().out.splitlines() == said
    for answer in PAGE.read_text().split("\n## ")[1:]:
        assert "\nprint(" in answer, answer.partition("\n")[0]
