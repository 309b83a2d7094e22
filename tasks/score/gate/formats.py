"""A gate's verdict for people (markdown for a pull request) and machines (JUnit, JSON)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from leaseboard.tasks.score.board import literal, markdown_table
from leaseboard.tasks.score.gate.promises import PromiseVerdict
from leaseboard.tasks.score.gate.verdict import (
    ALPHA,
    NOTHING_COMPARED,
    PASSED,
    REGRESSION,
    RUN_FAILED,
    Check,
    Verdict,
)

MARK = "<!-- leaseboard gate -->"
"""Stands in the markdown, so that a workflow can find its own comment and edit it in place."""

_PROMISES = ("failed", "broken", "missing", "changed", "new", "kept")
_ORDER = (
    "failed", "regressed", "missing", "changed", "not judged", "new", "improved", "passed", "same",
)  # fmt: skip


def headline(verdict: Verdict) -> str:
    """Return the verdict in one line."""
    scores = _counted(_ORDER, [check.verdict for check in verdict.checks])
    promises = _counted(_PROMISES, [kept.verdict for kept in verdict.promises])
    opening = {
        PASSED: "Gate passed",
        REGRESSION: "Gate failed",
        RUN_FAILED: "Gate failed: a job did not end ok",
        NOTHING_COMPARED: "Gate failed: nothing was compared",
    }[verdict.exit_code]
    if verdict.exit_code in (RUN_FAILED, NOTHING_COMPARED) and verdict.problems:
        opening = f"Gate failed: {verdict.problems[0]}"
    if verdict.slower:
        opening += f" ({len(verdict.slower)} slower)"
    text = f"{opening}: {verdict.n_compared} scenarios compared ({scores})"
    return f"{text}, {len(verdict.promises)} promises ({promises})" if verdict.promises else text


def _counted(kinds: tuple[str, ...], verdicts: list[str]) -> str:
    listed = ", ".join(f"{n} {kind}" for kind in kinds if (n := verdicts.count(kind)))
    return listed or "none at all"


def markdown(verdict: Verdict) -> str:
    """Return a comment for a pull request: what fails first, what is unchanged only counted."""
    lines = [MARK, f"### {literal(headline(verdict))}", ""]
    shown = sorted(
        (check for check in verdict.checks if check.verdict != "same"),
        key=lambda check: _ORDER.index(check.verdict),
    )
    if shown:
        lines += [*markdown_table(_CHECKS, (_row(one, verdict.names) for one in shown)), ""]
    if verdict.promises:
        first = sorted(verdict.promises, key=lambda kept: _PROMISES.index(kept.verdict))
        lines += [*markdown_table(_KEPT, map(_promise_row, first)), ""]
    if verdict.accepted_on:
        versions = ", ".join(f"{k} {v}" for k, v in sorted(verdict.accepted_versions.items()))
        lines.append(f"Accepted on {verdict.accepted_on} with {literal(versions)}.")
    spent = [one.cpu_seconds for one in verdict.checks if one.cpu_seconds[0] is not None]
    if spent:
        before, after = (sum(filter(None, column)) for column in zip(*spent, strict=True))
        lines.append(
            f"CPU seconds of the algorithms, medians: {before:.4g} accepted, {after:.4g} now; for"
            " information, since machines differ."
        )
    lines.append(
        "A drop is relative to the accepted mean; positive is worse. A scenario fails if its drop"
        " exceeds its tolerance and is not explained by chance: of all gates of changes that alter"
        f" only the draws of scores that vary with the seed, at most {ALPHA:.0%} fail."
    )
    return "\n".join(lines) + "\n"


def junit(verdict: Verdict) -> str:
    """Return JUnit XML: a case a scenario or promise, ``failure`` or ``error`` (at a crash)."""
    everything = (*verdict.checks, *verdict.promises)
    suite = ET.Element(
        "testsuite",
        name=f"leaseboard gate {verdict.suite}".strip(),
        tests=str(len(everything)),
        failures=str(sum(one.fails and one.verdict != "failed" for one in everything)),
        errors=str(sum(one.verdict == "failed" for one in everything)),
        skipped=str(sum(one.verdict == "new" for one in everything)),
    )
    for check in verdict.checks:
        place = verdict.names.get(check.data, check.data)
        _case(suite, place, check.label, check, check.explanation)
    for kept in verdict.promises:
        text = f"measured {_value(kept.measured)}, promised {kept.promise.bound}"
        name = f"promise: {kept.promise.name}"
        _case(suite, kept.promise.data, name, kept, f"{kept.explanation}; {text}")
    others = [("recording", "error", problem) for problem in verdict.problems]
    others += [("speed", "failure", f"slower: {name}") for name in verdict.slower]
    if verdict.exit_code == NOTHING_COMPARED:
        others.append(("something was compared", "error", "no accepted score was compared"))
    for name, tag, text in others:
        for count in ("tests", f"{tag}s"):
            suite.set(count, str(int(suite.get(count, "0")) + 1))
        case = ET.SubElement(suite, "testcase", classname="gate", name=name)
        ET.SubElement(case, tag, type=name, message=_clean(text))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(
    suite: ET.Element, place: str, name: str, one: Check | PromiseVerdict, text: str
) -> None:
    case = ET.SubElement(suite, "testcase", classname=_clean(place), name=_clean(name))
    if one.fails:
        tag = "error" if one.verdict == "failed" else "failure"
        ET.SubElement(case, tag, type=one.verdict, message=_clean(text))
    elif one.verdict == "new":
        ET.SubElement(case, "skipped", message=_clean(text))
    ET.SubElement(case, "system-out").text = _clean(f"{one.verdict}: {text}")


def as_json(verdict: Verdict) -> str:
    """Return the whole verdict as JSON; numbers that do not exist are null."""
    payload = {
        "suite": verdict.suite,
        "accepted_on": verdict.accepted_on,
        "accepted_versions": dict(verdict.accepted_versions),
        "exit_code": verdict.exit_code,
        "headline": headline(verdict),
        "compared": verdict.n_compared,
        "problems": list(verdict.problems),
        "slower": list(verdict.slower),
        "checks": [
            {**_plain(check), "name": verdict.names.get(check.data, check.data)}
            for check in verdict.checks
        ],
        "promises": [_plain_promise(kept) for kept in verdict.promises],
    }
    return json.dumps(payload, indent=1, allow_nan=False) + "\n"


def _plain(check: Check) -> dict[str, Any]:
    drop = None if check.drop is None else check.drop.times(check.scale)
    return {
        "algorithm": check.label,
        "data": check.data,
        "verdict": check.verdict,
        "fails": check.fails,
        "explanation": check.explanation,
        "accepted": _number(check.accepted),
        "measured": _number(check.measured),
        "drop": None if drop is None else drop.value,
        "interval": None if drop is None else [_number(drop.lower), _number(drop.upper)],
        "relative_drop": None if check.drop is None else check.drop.value,
        "tolerance": _number(check.tolerance),
        "pairs": check.n,
        "accepted_cpu_seconds": check.cpu_seconds[0],
        "cpu_seconds": _number(check.cpu_seconds[1]),
    }


def _plain_promise(kept: PromiseVerdict) -> dict[str, Any]:
    return {
        **kept.promise.model_dump(),
        "name": kept.promise.name,
        "bound": kept.promise.bound,
        "verdict": kept.verdict,
        "fails": kept.fails,
        "explanation": kept.explanation,
        "measured": _number(kept.measured),
        "repetitions": kept.n,
        "broken": kept.n_broken,
        "allowed": kept.n_allowed,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


_CHECKS = {
    "verdict": True, "algorithm": True, "data": True, "accepted": False, "measured": False,
    "drop [95 % interval]": True, "why": True,
}  # fmt: skip
_KEPT = {
    "verdict": True, "promise": True, "measured": False, "bound": True, "repetitions": False,
    "why": True,
}  # fmt: skip
"""The columns of the tables, and whether they are aligned to the left."""


def _row(check: Check, names: Mapping[str, str]) -> list[str]:
    drop = ""
    if check.drop is not None:
        drop = f"{check.drop.value:+.2%}"
        if math.isfinite(check.drop.lower):
            drop += f" [{check.drop.lower:+.2%}, {check.drop.upper:+.2%}]"
    return [
        f"**{check.verdict}**" if check.fails else check.verdict,
        literal(check.label),
        literal(names.get(check.data, check.data)),
        "" if math.isnan(check.accepted) else f"{check.accepted:.6g}",
        "" if math.isnan(check.measured) else f"{check.measured:.6g}",
        drop,
        literal(check.explanation),
    ]


def _promise_row(kept: PromiseVerdict) -> list[str]:
    return [
        f"**{kept.verdict}**" if kept.fails else kept.verdict,
        literal(kept.promise.name),
        _value(kept.measured),
        literal(kept.promise.bound),
        str(kept.n),
        literal(f"{kept.explanation}; {kept.promise.reason}"),
    ]


def _value(value: float) -> str:
    return "no number" if math.isnan(value) else f"{value:.10g}"


def _clean(text: str) -> str:
    """Return `text` without the control characters that XML cannot hold."""
    return "".join(c for c in text if c in "\t\n" or ord(c) >= 0x20)
