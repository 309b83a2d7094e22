"""The leaderboard in words and as text: the best, baselines, how sure, what is missing."""

from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import ONE_SET_RULE, compared, markdown, plain, texts
from tests.tasks.score.conftest import frame_of


def answer(scores, *scale, **fields):
    frame = as_frame(frame_of(scores, **fields)).assign(metric="score")
    suite = Suite(title="t", data=["x"], algorithms=["vanilla"])
    if scale:
        suite = suite.model_copy(
            update={"normalise": SimpleNamespace(zero=scale[0], one=scale[1])}
        )
    return compared(frame, suite).answer


def many(n, gap=1.0):
    scores = {("slow", f"d{i}"): [10.0 + i + gap + 0.01 * i] * 2 for i in range(n)}
    return scores | {("fast", f"d{i}"): [10.0 + i] * 2 for i in range(n)}


def test_every_question_has_its_answer():
    found = answer(many(8))
    assert found["best"] == "fast ranks first: mean rank 1.00 among 2 algorithms on 8 datasets."
    assert "fast and slow differ (Wilcoxon-Holm, p = 0.0078)" in found["how_sure"]
    assert found["missing"].startswith("All 32 jobs finished.")


def test_few_datasets_show_no_difference():
    assert "do not differ significantly" in answer(many(5))["how_sure"]
    assert " differ (Wilcoxon-Holm" in answer(many(6))["how_sure"]
    assert "how_sure" not in answer({("a", "x"): [1.0], ("a", "y"): [1.0]})
    tied = answer({(label, data): [1.0] for label in "ab" for data in "xy"})
    assert tied["best"].startswith("a and b share the first place: mean rank 1.50")


def test_missing_jobs_and_rows_are_counted():
    scores = {("a", "x"): [1.0, "crash"], ("b", "x"): [1.0, "skipped"], ("c", "x"): [2.0]}
    said = "3 of 6 jobs finished (1 failed, 1 skipped, 1 not done)."
    assert answer(scores)["missing"] == said
    assert answer({("a", "x"): ["crash"]})["best"].startswith("No job finished")
    frame = frame_of({("a", "x"): [1.0, 2.0], ("a", "y"): [1.0], ("a", "z"): [1.0]})
    frame["rows"], frame["rows_available"] = [10, 20, 9, 40], [30, 30, 9, None]
    found = compared(frame, Suite(title="t", data=[{"data": "x", "name": "ex"}], algorithms=["a"]))
    assert "ex: 10 to 20 of 30; z: 40" in found.answer["missing"]


def test_a_single_dataset_with_scores_claims_no_rank():
    """As where the others are not downloaded: neither their skips nor crashes are results."""
    one = {("a", "x"): [1.0, 1.2], ("b", "x"): [2.0, 2.3]}
    for lost in ((), ("skipped",), ("crash",)):
        other = {(label, data): [how, how] for how in lost for label in "ab" for data in "wy"}
        found = answer(other | one)
        assert found["best"] == "a has the best score, 1.1; b has 2.15."
        assert "do not exclude that a and b are equally good" in found["how_sure"]
        assert found["how_sure"].endswith(ONE_SET_RULE)
        assert "Wilcoxon" not in " ".join(found.values())
    found = answer({("a", "x"): [1.0], ("b", "x"): [1.0], ("c", "x"): [2.0]})
    assert found["best"] == "a and b share the best score, 1; c has 2."
    alone = answer({("a", "x"): [1.0, 2.0], ("bad", "x"): ["crash", "crash"]})
    assert (alone["best"], alone["how_sure"]) == ("a has the best score, 1.5.", ONE_SET_RULE)


def test_repetitions_that_are_copies_count_once():
    """As those of a learner without a seed on rows that are always the same."""
    seeded = [2.0 + i / 10 for i in range(8)]
    for other, sure in ((seeded, "0.0078"), ([2.0] * 7 + [2.1], "0.5"), ([2.0] * 8, "1")):
        found = compared(frame_of({("fixed", "x"): [1.0] * 8, ("other", "x"): other})).answer
        assert f"copies counted once, p = {sure})" in found["how_sure"]


LOSSES = {"vanilla": [4.0, 4.1], "exhaustive": [2.0, 2.1], "cha<b>[red]|_*": [3.0, 3.1]}
SUITE = Suite(
    title="A <title> [bold]",
    data=[{"data": "x"}],
    algorithms=["vanilla", "exhaustive", {"algorithm": "x", "name": "cha<b>[red]|_*"}],
)


def on(*data, **changed):
    cells = LOSSES | changed
    return frame_of({(name, one): scores for one in data for name, scores in cells.items()})


def words(found):
    return " ".join(plain(found).split())


def test_plain_text_has_the_numbers_and_raw_names():
    found = compared(on("x"), SUITE)
    lines = plain(found).splitlines()
    assert lines[0] == "A <title> [bold], by progressive_mse"
    head = " ".join(lines[1].split())
    assert head == "algorithm progressive_mse 95 % interval CPU s × cost jobs"
    assert lines[2].split() == ["exhaustive", "2.05", "–", "1", "1", "2/2"]
    assert words(found).count(ONE_SET_RULE) == 1
    assert "cha<b>[red]|_*" in words(found)
    never = compared(on("x", vanilla=["crash", "crash"]), SUITE)
    assert "counts as the worst score" in words(never)


def test_a_suite_may_name_its_scale_or_what_ranks():
    ends = {"zero": "vanilla", "one": "exhaustive"}
    suite = Suite(title="t", data=["x"], normalise=ends,
                  algorithms=[{"algorithm": "vanilla"}, {"algorithm": "exhaustive"}])  # fmt: skip
    scores = compared(on("x", "y"), suite).board.frame["score"].to_dict()
    assert scores == pytest.approx({"vanilla": 0, "exhaustive": 1, "cha<b>[red]|_*": 0.5})
    frame = on("x")
    frame["metrics"] = [{"mae": -score} for score in frame["score"]]
    suite = Suite(title="Mine", data=["x"], algorithms=["vanilla"], metric="mae")
    found = compared(frame, suite)
    assert found.board.frame.index[0] == "vanilla"
    assert found.board.score_name == "mae, less is better"
    assert plain(found).startswith("Mine, by mae\n")


NAMES = (
    "plain", 'quo"te, comma', "a\\|b | c\\\\", "*x* _y_ `z` ~~w~~ <b>&amp;",
    "[link](https://example.org)", "50 % of $3 #1 {x} ^2 ~ \\cmd", "–dash × times",
    "![image](x) # heading", "- item", "1. item", "+ item",
)  # fmt: skip


@pytest.mark.parametrize("data", [("d",), ("d", "e")], ids=["one dataset", "two"])
def test_markdown_is_read_back_unchanged(data):
    made = compared(frame_of({
        (name, one): ["timeout" if i == 1 else 1 / (i + 3)]
        for i, name in enumerate(NAMES) for one in data
    }))  # fmt: skip
    text = markdown(made)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inlines = {child.type for token in tokens for child in token.children or ()}
    assert inlines <= {"text", "text_special", "softbreak"}
    assert {token.type.partition("_")[0] for token in tokens} <= {
        "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    read = ["".join(child.content for child in tokens[i + 1].children)
            for i, token in enumerate(tokens) if token.type in ("td_open", "th_open")]  # fmt: skip
    shown = texts(made)
    assert read == [*shown, *shown.to_numpy().ravel()]
    assert "counts as the worst score" in text
