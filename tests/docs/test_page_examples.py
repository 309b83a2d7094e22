"""The examples of the pages run unchanged, and print what they say."""

import pytest

from leaseboard.flows import cli
from tests.docs import pages

pytestmark = pytest.mark.slow

PRINTED = {
    "champion-and-challenger.md": ["challenger", "True 1.0"],
    "how-to/select-a-configuration.md": ["logistic", "['logisticregression__C']"],
}
"""What a page that does not say it in comments prints; of more lines the first and the last."""
IN_COMMENTS = (
    "how-to/learn-your-stream.md",
    "benchmarks/frameworks-on-streams.md",
)


@pytest.mark.parametrize("name", [*PRINTED, *IN_COMMENTS])
def test_the_examples_of_a_page_print_what_it_says(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known, expected = {}, PRINTED.get(name, [])
    for block in pages.blocks(pages.DOCS / name):
        if block.language == "python":
            exec(compile(block.text, name, "exec"), known)
            if name in IN_COMMENTS:
                expected += [line.rpartition("  # ")[2] for line in block.text.splitlines()
                             if line.startswith("print") or " print(" in line]  # fmt: skip

    printed = capsys.readouterr().out.splitlines()
    if name in PRINTED:
        printed = [printed[0], *printed[1:][-1:]]
    assert printed == expected


def test_the_command_lines_of_the_online_learner_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    lines = []
    for block in pages.blocks(pages.DOCS / "how-to" / "add-an-online-learner.md"):
        lines += block.text.splitlines() if block.language == "sh" else []
        if block.file:
            (tmp_path / block.file).write_text(block.text)
    for line in lines:
        with pytest.raises(SystemExit) as ended:
            cli.main(pages.arguments(line))
        printed = capsys.readouterr()
        assert ended.value.code == cli.PASSED, printed.out + printed.err
    assert len(lines) >= 3
