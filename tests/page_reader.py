"""Reads a page as a browser would: whether its tags nest, what it holds, and what it loads."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

PLOT = re.compile(r'newPlot\(\s*"[^"]+",\s*(\[.*?\]),\s*(\{.*?\}),\s*\{"displayModeBar"')
VOID = {"meta", "link", "br", "input", "img", "hr"}
LOADING = {"src", "href", "data", "action", "poster", "srcset"}


class Reader(HTMLParser):
    """Parser that checks that tags nest, and collects what the tests ask for."""

    def __init__(self):
        super().__init__()
        self.stack, self.loads, self.ids, self.words = [], [], [], []
        self.figures = {}

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
        tag = self.stack[-1][0] if self.stack else ""
        if tag == "script" and (drawn := PLOT.search(data)):
            title = next(found["aria-label"] for name, found in self.stack if name == "figure")
            traces, layout = map(json.loads, drawn.groups())
            self.figures[title] = {"data": traces, "layout": layout}
        elif tag not in {"script", "style"}:
            self.words.append(data.strip())


def read_page(path: Path) -> Reader:
    """Return the page, whose tags all close."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert not reader.stack
    return reader
