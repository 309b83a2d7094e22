"""The documentation uses the words of `docs/words.csv`.

`python tests/docs/test_words.py` lists the offenders without a test runner; `make lint` calls it.
"""

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "docs" / "words.csv"
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*")
        if page.suffix in (".md", ".txt") and not {"_build", "generated"} & set(page.parts)
    ),
)

_NOT_PROSE = re.compile(
    r"^( *)(```+).*?^\1\2|(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\3(?!`)|\]\([^)\s]*\)|<https?:[^>]*>|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
"""Fenced blocks, code in backticks, targets of links and addresses."""


def read_words():
    """Return each pattern of the list, compiled, with the words to use instead."""
    with WORDS.open(encoding="utf-8", newline="") as file:
        return [
            (re.compile(row["word"].replace(" ", r"\s+"), re.IGNORECASE), row["use instead"])
            for row in csv.DictReader(file)
        ]


def find_offenders(text, words):
    """Return line number, words found and words to use instead, for each offender in `text`."""
    # Blanks take the place of code, line by line, so that line numbers stay.
    prose = _NOT_PROSE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return sorted(
        (prose.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), instead)
        for pattern, instead in words
        for found in pattern.finditer(prose)
    )


def list_offenders():
    """Return `file:line:word` of each offender in the documentation."""
    words = read_words()
    return [
        f"{path.relative_to(ROOT)}:{line}:{word} (use: {instead})"
        for path in PAGES
        for line, word, instead in find_offenders(path.read_text(encoding="utf-8"), words)
    ]


def test_documentation_uses_the_words_of_the_list():
    assert list_offenders() == []


if __name__ == "__main__":
    offenders = list_offenders()
    print("\n".join(offenders) or "docs/words.csv: no offenders")
    sys.exit(bool(offenders))
