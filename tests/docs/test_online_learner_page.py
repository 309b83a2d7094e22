"""The learners of the how-to keep our promises, and are raced by its own command lines."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from leaseboard.flows import cli

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
PAGE = pages.DOCS / "how-to" / "add-an-online-learner.md"
SHELL = [block.text for block in pages.blocks(PAGE) if block.language == "sh"]
LINES = [line for text in SHELL for line in text.splitlines()]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder with the files of the page, in which its commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    for block in pages.blocks(PAGE):
        if block.file:
            (tmp_path / block.file).write_text(block.text)


@pytest.mark.parametrize("line", LINES)
def test_the_command_lines_of_the_page_run(line, written, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(pages.arguments(line))

    said = capsys.readouterr()
    assert ended.value.code == cli.PASSED, said.out + said.err
