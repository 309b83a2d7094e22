"""The examples of the pages run unchanged, and print what they say."""

import pytest

from tests.docs import pages

PRINTED = {"guides/live-model.md": ["challenger", "True 1.0"]}
"""What a page that does not say it in comments prints; of more lines the first and the last."""
IN_COMMENTS = ("guides/stream.md",)


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
