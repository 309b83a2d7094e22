"""The documentation and the code use the words of `docs/words.csv`.

The column `in code` says which words are not used in code either: in names, texts, docstrings and
comments of Python files, and in YAML.
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

CODE = (
    *(path for room in ("algorithms", "tasks", "flows", "benchmarks", "tests")
      for path in sorted((ROOT / room).rglob("*.py")) if path != Path(__file__).resolve()),
    *sorted((ROOT / "leaseboard").glob("*.py")),
    *(path for path in sorted((ROOT / "conf").rglob("*"))
      if path.suffix in (".yaml", ".example", ".service")),
    ROOT / "algorithms" / "registry.csv",
    ROOT / "tasks" / "report" / "texts.yaml",
)  # fmt: skip
_NAMES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
"""Places between the words of a name."""

_NOT_PROSE = re.compile(
    r"^( *)(```+).*?^\1\2|(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\3(?!`)|\]\([^)\s]*\)|<https?:[^>]*>|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
"""Fenced blocks, code in backticks, targets of links and addresses."""


def read_words(path=WORDS, *, of_code=False):
    """Return each pattern of the list, compiled, with the words to use instead."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (re.compile(row["word"].replace(" ", r"\s+"), re.IGNORECASE), row["use instead"])
            for row in csv.DictReader(file)
            if row["in code"] or not of_code
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


def find_in_code(text, words):
    """Return what `find_offenders` does, of the words in names too."""
    spaced = _NAMES.sub(" ", text)
    return sorted(
        (spaced.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), instead)
        for pattern, instead in words
        for found in pattern.finditer(spaced)
    )


def list_offenders():
    """Return `file:line:word` of each offender in the documentation and in the code."""
    kinds = (
        (PAGES, find_offenders, read_words()),
        (CODE, find_in_code, read_words(of_code=True)),
    )
    return [
        f"{path.relative_to(ROOT)}:{line}:{word} (use: {instead})"
        for paths, find, words in kinds
        for path in paths
        for line, word, instead in find(path.read_text(encoding="utf-8"), words)
    ]


def test_documentation_and_code_use_the_words_of_the_list():
    assert list_offenders() == []


def test_offenders_are_found_in_names_texts_and_comments():
    text = "class TwinRow:\n    is_born = 'whoever'  # anew\n"

    found = find_in_code(text, read_words(of_code=True))

    assert [(line, word.lower()) for line, word, _ in found] == [
        (1, "twin"), (2, "anew"), (2, "born"), (2, "whoever"),
    ]  # fmt: skip


def test_offenders_are_found_in_prose_and_not_in_code():
    text = "A board.\n\n```sh\na board\n```\n`board` [x](board.md) leaderboard\nthe data\nset\n"

    found = find_offenders(text, read_words())

    assert [(line, word) for line, word, _ in found] == [(1, "board"), (7, "data set")]


def test_each_row_of_the_list_is_a_pattern_with_words_to_use():
    words = read_words()

    assert len(words) > 30
    assert all(instead for _, instead in words)


if __name__ == "__main__":
    offenders = list_offenders()
    print("\n".join(offenders) or "docs/words.csv: no offenders")
    sys.exit(bool(offenders))
