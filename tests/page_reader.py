"""Reads a page as a browser would: whether its tags nest, what it holds, and what it loads."""

from html.parser import HTMLParser
from pathlib import Path

from leaseboard.tasks.report.page import unpacked

VOID = {"meta", "link", "br", "input", "img", "hr"}
LOADING = {"src", "href", "data", "action", "poster", "srcset"}


class Reader(HTMLParser):
    """Parser that checks that tags nest, and collects what the tests ask for."""

    def __init__(self):
        super().__init__()
        self.stack, self.loads, self.ids, self.tables = [], [], [], 0
        self.words, self.packed = [], {}

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.loads += [v for k, v in given.items() if k in LOADING]
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.stack.append((tag, given))

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack[-1][0] == tag, f"</{tag}> closes <{self.stack[-1][0]}>"
        self.stack.pop()

    def handle_data(self, data):
        tag, given = self.stack[-1] if self.stack else ("", {})
        if tag == "script" and given.get("type") == "application/x-packed":
            self.packed[given["id"]] = data
        elif tag not in {"script", "style"}:
            self.words.append(data.strip())

    def close(self):
        """Read the rest, and the texts of packed tables."""
        super().close()
        for name, data in self.packed.items():
            if name.endswith("-rows"):
                self.words += [text for column in unpacked(data) for text in column["text"]]


def packed_columns(reader: Reader, table: str) -> dict[str, list]:
    """Return the texts of a packed table, by column."""
    return {each["name"]: each["text"] for each in unpacked(reader.packed[f"{table}-rows"])}


def job_pages(reader: Reader) -> dict[str, dict]:
    """Return the facts on each job's page by key, its log in "log"; {} without one."""
    columns = packed_columns(reader, "jobs-table")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    blocks = {name: unpacked(reader.packed[name]) for name in {row["log"] for row in rows} - {""}}
    return {
        row["Key"]: row | {"log": blocks[row["log"]][row["Key"]] if row["log"] else {}}
        for row in rows
    }


def read_page(path: Path) -> Reader:
    """Return the page, whose tags all close."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert not reader.stack
    return reader
