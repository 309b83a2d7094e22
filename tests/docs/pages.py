"""The pages of the documentation as tests see them: fenced blocks and command lines."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = [DOCS / "reference" / name for name in ("command-line.md", "keys.md")]
"""Pages that `make docs` makes of the code."""


def made(page):
    """Return whether `make docs` makes a page."""
    return bool({"_build", "generated"} & {*page.parts}) or page in MADE


PAGES = sorted([ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if not made(page))])

_FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(leaseboard [^`]+)`")
_ENDS = ("|", "||", "&", "&&", ";", ">", ">>", "2>&1", "#")


@dataclass(frozen=True)
class Block:
    language: str
    text: str

    @property
    def file(self):
        """Return the file that the block's first line names in a comment, or None."""
        first = re.match(r"# (\S+\.\w+)\n", self.text)
        return first and first[1]


def blocks(page):
    return [Block(language, text) for _, language, text in _FENCE.findall(page.read_text())]


def commands(text):
    """Return the arguments of every command line of `leaseboard` in a page or a workflow."""
    lines = _INLINE.findall(_FENCE.sub("", text))
    for _, language, body in _FENCE.findall(text):
        if language in ("sh", "console", "bash", "text", ""):
            lines += body.replace("\\\n", " ").splitlines()
    return [found for line in lines if (found := arguments(line)) is not None]


def arguments(line):
    """Return what a line of a shell hands to `leaseboard`, None if it does not call it."""
    match = re.search(r"(?:^|\s|bin/)leaseboard(?=\s|$)(.*)", line)
    if match is None:
        return None
    words = []
    for word in shlex.split(match[1].replace("…", " "), comments=True):
        if word in _ENDS:
            break
        words.append(word)
    return words
