"""The page says of River's bandit what is so; where River mends it, page and peer must change."""

import runpy
from pathlib import Path
from types import SimpleNamespace

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "peers-on-streams.md"


def test_the_bandit_is_worse_than_each_of_its_models(capsys):
    (block,) = (each for each in pages.blocks(PAGE) if each.language == "python")
    exec(compile(block.text, PAGE.name, "exec"), {})
    told = [line.rpartition("  # ")[2] for line in block.text.splitlines() if "print" in line]

    assert capsys.readouterr().out.splitlines() == told
