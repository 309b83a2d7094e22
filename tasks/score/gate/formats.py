"""A gate's verdict for people (markdown for a pull request) and machines (JSON)."""

import math
from collections.abc import Iterable
from dataclasses import asdict

import pandas as pd
from pydantic_core import to_json

from leaseboard.tasks.score.board import literal, markdown_table
from leaseboard.tasks.score.gate.verdict import (
    ALPHA,
    NOTHING_COMPARED,
    PASSED,
    REGRESSION,
    RUN_FAILED,
    Check,
    Verdict,
)
from leaseboard.tasks.score.summary import several

MARK = "<!-- leaseboard gate -->"
"""Is in the markdown, so that a workflow can find its own comment and edit it in place."""

_ORDER = (
    "failed", "broken", "regressed", "missing", "changed", "not judged", "new", "improved",
    "passed", "same", "met",
)  # fmt: skip

RULE = (
    "A scenario is one algorithm on one dataset; the naive baselines that a suite adds count, too."
    " A drop is relative to the accepted mean; positive is worse. A scenario fails if its drop"
    " exceeds its tolerance and is not explained by chance: of all gates of changes that alter"
    f" only the draws of scores that vary with the seed, at most {100 * ALPHA:g} %"
    " fail."
)


def headline(verdict: Verdict) -> str:
    """Return the verdict in one line."""
    opening = {
        PASSED: "Gate passed",
        REGRESSION: "Gate failed",
        RUN_FAILED: "Gate failed: a job did not end ok",
        NOTHING_COMPARED: "Gate failed: nothing was compared",
    }[verdict.exit_code]
    if verdict.exit_code in (RUN_FAILED, NOTHING_COMPARED) and verdict.problems:
        opening = f"Gate failed: {verdict.problems[0]}"
    scenarios = several(verdict.n_compared, "scenario")
    text = f"{opening}: {scenarios} compared ({_counts(verdict.checks)})"
    if verdict.requirements:
        requirements = several(len(verdict.requirements), "requirement")
        text += f", {requirements} ({_counts(verdict.requirements)})"
    return text


def worse(verdict: Verdict) -> dict[str, str]:
    """Return why scenarios and requirements fail the gate, by their titles."""
    return {one.title: f"{one.verdict}: {one.explanation}" for one in verdict.judged if one.fails}


def _counts(judged: Iterable[Check]) -> str:
    verdicts = [one.verdict for one in judged]
    return ", ".join(f"{n} {kind}" for kind in _ORDER if (n := verdicts.count(kind))) or "none"


def markdown(verdict: Verdict) -> str:
    """Return a comment for a pull request: what fails first, what is unchanged only counted."""
    lines = [MARK, f"### {literal(headline(verdict))}", ""]
    rows = [
        {
            "verdict": f"**{one.verdict}**" if one.fails else one.verdict,
            "scenario or requirement": literal(_titled(verdict, one)),
            "accepted": literal(one.bound or _value(one.accepted)),
            "measured": _value(one.measured),
            "drop [95 % interval]": _drop(one),
            "repetitions": str(one.n),
            "why": literal(one.explanation),
        }
        for one in sorted(verdict.judged, key=lambda one: _ORDER.index(one.verdict))
        if one.verdict not in ("same", "met")
    ]
    if rows:
        numbers = ("accepted", "measured", "repetitions")
        lines += [*markdown_table(pd.DataFrame(rows), numbers), ""]
    if verdict.baseline is not None:
        accepted = verdict.baseline
        versions = ", ".join(f"{k} {v}" for k, v in sorted(accepted.versions.items()))
        lines.append(f"Accepted on {accepted.date} with {literal(versions)}.")
    return "\n".join([*lines, RULE, ""])


def _titled(verdict: Verdict, one: Check) -> str:
    """Return the title of a check with the suite's name of its dataset."""
    return one.title.replace(one.data, verdict.names.get(one.data, one.data))


def _drop(check: Check) -> str:
    if check.drop is None:
        return ""
    ends = f" [{check.drop.lower:+.2%}, {check.drop.upper:+.2%}]"
    return f"{check.drop.value:+.2%}" + (ends if math.isfinite(check.drop.lower) else "")


def _value(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def as_json(verdict: Verdict) -> str:
    """Return the whole verdict as JSON; numbers that do not exist are null."""
    payload = {
        "accepted": verdict.baseline and verdict.baseline.model_dump(exclude={"scenarios"}),
        "exit_code": verdict.exit_code,
        "headline": headline(verdict),
        "compared": verdict.n_compared,
        "problems": verdict.problems,
        **{
            kind: [asdict(one) | {"title": _titled(verdict, one), "fails": one.fails}
                   for one in getattr(verdict, kind)]
            for kind in ("checks", "requirements")
        },
    }  # fmt: skip
    return to_json(payload, indent=1, inf_nan_mode="null").decode() + "\n"
