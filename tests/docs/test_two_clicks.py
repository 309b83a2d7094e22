"""Each of the likely questions of each persona is answered at most two clicks from the index."""

import re

import pytest

from tests.docs import pages

QUESTIONS = {
    "How do I install it, and on which systems?": ("installation.md", "libgomp1"),
    "How do I learn my csv as a stream, and predict?": (
        "how-to/learn-your-stream.md", "leaseboard learn",
    ),
    "My labels arrive days later": ("how-to/labels-that-come-later.md", "learn_label"),
    "What is the best model for my table in a minute?": (
        "how-to/learn-your-table.md", "CPU seconds",
    ),
    "How good is it next to FLAML and AutoGluon?": ("benchmarks/tables.md", "FLAML"),
    "How do I fail a pull request that makes scores worse?": (
        "how-to/gate-in-ci.md", "--update-baseline",
    ),
    "What do the exit codes mean?": ("operations.md", "## Exit codes"),
    "How do I add my algorithm?": ("how-to/add-an-algorithm.md", "leaseboard check"),
    "Where do I get the datasets?": ("how-to/get-the-datasets.md", "leaseboard data mirror"),
    "What is monitored in production?": (
        "how-to/operate-a-live-model.md", "drift",
    ),
    "How do I serve predictions over HTTP?": ("how-to/serve.md", "/invocations"),
    "What is a lease?": ("glossary.md", "| lease |"),
    "What do River, FLAML and MLflow do better?": ("comparison.md", "Where Leaseboard loses"),
}  # fmt: skip


def links_of(page):
    found = re.findall(r"\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in found}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_two_clicks_from_the_index(question):
    name, words = QUESTIONS[question]
    first = links_of(pages.DOCS / "index.md")
    second = {link for page in first for link in links_of(page)}

    assert pages.DOCS / name in first | second
    assert words in (pages.DOCS / name).read_text(encoding="utf-8")
