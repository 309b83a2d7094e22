import io
import json

import pytest
from rich.console import Console

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.compare import as_json, compare, renderable
from leaseboard.tasks.score.frame import as_frame, to_frame

A = {("chacha", "x"): [1.0, 2.0, 3.0] * 2, ("chacha", "y"): [4.0] * 6}


def frame_of(scores, cpu=1.0, **fields):
    return as_frame(
        to_frame(
            Result(**{
                "key": f"{label}{data}".encode().hex() + str(i),
                "algorithm": label, "name": label, "data": data,
                "digest": "d", "seed": i, "environment_seed": i, "repetition": i,
                "status": "crash" if score is None else "ok", "score": score, "metric": "mse",
                "cpu_seconds": cpu, **fields,
            })
            for (label, data), cells in scores.items() for i, score in enumerate(cells)
        )
    )  # fmt: skip


def found(scores, **fields):
    result = compare(frame_of(A), frame_of(scores, **fields))
    return {(d.algorithm, d.data): d for d in result.differences}


def test_a_consistent_change_is_called_by_its_direction():
    assert {d.verdict for d in found(A).values()} == {"same"}
    for factor, verdict in ((0.9, "better"), (1.1, "worse")):
        difference = found({**A, ("chacha", "y"): [4.0 * factor] * 6})["chacha", "y"]
        assert (difference.verdict, difference.n) == (verdict, 6)
        assert difference.change.value == pytest.approx(1 - factor)
    first = frame_of(A, direction="max")
    second = frame_of({**A, ("chacha", "y"): [5.0] * 6}, direction="max")
    (difference,) = [d for d in compare(first, second).differences if d.data == "y"]
    assert difference.verdict == "better"
    assert found({**A, ("chacha", "x"): [1.5, 1.5, 3.0] * 2})["chacha", "x"].verdict == "unclear"


def test_few_pairs_are_unclear_and_one_has_no_interval():
    few = {key: scores[:3] for key, scores in A.items()}
    worse = {key: [1.5 * score for score in scores] for key, scores in few.items()}
    for n in (1, 3):
        first, second = (frame_of({k: v[:n] for k, v in each.items()}) for each in (few, worse))
        result = compare(first, second)
        assert {difference.verdict for difference in result.differences} == {"unclear"}
    assert json.loads(
        as_json(compare(frame_of({("a", "x"): [1.0]}), frame_of({("a", "x"): [2.0]})))
    )


def test_cost_is_a_ratio_of_paired_cpu_seconds_and_one_run_alone_is_named():
    cost = found(A, cpu=2.0)["chacha", "x"].cost
    assert cost.value == pytest.approx(2)
    differences = found({("chacha", "x"): A["chacha", "x"], ("new", "x"): [1.0]})
    assert differences["chacha", "y"].verdict == "only A"
    assert differences["new", "x"].verdict == "only B"


def test_other_data_or_seeds_are_not_comparable():
    other = found(A, digest="other")["chacha", "x"]
    assert (other.verdict, other.note) == ("not comparable", "digest: d in A, other in B")
    seedless = frame_of(A)
    seedless["seed"] += 100
    result = compare(frame_of(A), seedless)
    assert {d.note for d in result.differences} == {"no seed in common"}
    assert result.n_compared == 0


def test_failures_are_reported():
    differences = found({**A, ("chacha", "x"): [None] * 6})
    assert differences["chacha", "x"].note == "no finished job in B"
    assert found({**A, ("chacha", "x"): [None, 2.0, 3.0] * 2})["chacha", "x"].n == 4


def test_totals_are_over_datasets():
    halved = {key: [score / 2 for score in cells] for key, cells in A.items()}
    (total,) = compare(frame_of(A), frame_of(halved)).overall
    assert total.change.value == pytest.approx(0.5)
    assert total.counts == {"better": 2}


def test_the_printed_comparison_counts_what_is_the_same_and_lists_the_rest():
    changed = {**A, ("chacha", "y"): [4.4] * 6, ("<b>[red]", "x"): [1.0]}
    console = Console(file=io.StringIO(), width=120)
    console.print(renderable(compare(frame_of(A), frame_of(changed)), ("a", "[b]")))
    text = console.file.getvalue()
    assert "1 worse, 1 same" in text
    assert "−10.00 %" in text
    assert "<b>[red]" in text
    assert "B: [b]" in text


def test_json_is_complete():
    payload = json.loads(as_json(compare(frame_of(A), frame_of({**A, ("n", "x"): [1.0]}))))
    assert payload["compared"] == 2
    assert [d["verdict"] for d in payload["differences"]] == ["same", "same", "only B"]
    assert payload["differences"][2]["a"] is None


def chosen(scores):
    frame = frame_of({("a", "x"): [0.9, 0.8]}, direction="max", environment="pulls")
    frame["metrics"] = [{"test": score} for score in scores]
    return frame


def test_of_policies_the_change_on_test_is_next_to_that_of_validation():
    (difference,) = compare(chosen([0.5, 0.5]), chosen([0.6, 0.6])).differences

    assert difference.verdict == "same"
    assert difference.on_test.value == pytest.approx(0.2)
    console = Console(file=io.StringIO(), width=200)
    console.print(renderable(compare(chosen([0.5, 0.5]), chosen([0.6, 0.6])), ("A", "B")))
    assert "change on test" in console.file.getvalue()
    assert "+20.00 %" in console.file.getvalue()


def test_what_was_not_tested_has_no_change_on_test():
    (difference,) = compare(chosen([None, 0.5]), chosen([0.5, None])).differences

    assert difference.on_test is None
    assert found(A)["chacha", "x"].on_test is None
