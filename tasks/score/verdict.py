"""The gate's verdict: a run against every accepted score and every requirement.

Scores are compared seed by seed, in as many repetitions as the decision needs.
A scenario is one algorithm on one dataset. A regression is a mean drop beyond the tolerance that
chance does not explain, judged group-sequentially:

- a scenario whose scores are all as accepted is the same, and nothing more is run;
- one that dropped is *in doubt*: it is run again with `LOOKS` repetitions, one look after the
  other, as long as probability has not become a good explanation (`DOUBT`);
- it has regressed if at a look of at least `DECIDING` pairs the probability of such a drop
  (`leaseboard.tasks.score.inference`) is at most `ALPHA` / (2 m), where m scenarios changed.

A scenario of which `DECIDING` accepted scores or more are equal, and so are the new ones, is
exact: its score does not depend on the seed, and any drop beyond rounding is a regression.

Theorem. If a change is neutral, that is, if it changes nothing but the random draws of the
scenarios that changed, a gate calls one of them regressed with probability at most `ALPHA`, plus
2⁻¹² for each that is taken for exact by chance.
Proof: at each look the probability is a p-value, see `leaseboard.tasks.score.inference`. A
scenario meets at most two deciding looks, one of `DECIDING` to 23 pairs and one of 24 or more, so
by the union bound it is called regressed with probability at most 2 · `ALPHA` / (2 m). There are m
of them. The drop of an exact one is that of all its pairs, whose probability is 2⁻ⁿ for n ≥ 12
pairs.
 ∎
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.checks import ROUNDING
from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.score.baseline import Baseline, Quantity, Scenario
from leaseboard.tasks.score.frame import scoreless
from leaseboard.tasks.score.inference import Interval, Paired, paired
from leaseboard.tasks.score.summary import literal, markdown_table, several

TOLERANCE = 0.002
"""A drop of a fifth of a percent of the accepted mean. Seeded scores repeat exactly, so a
tolerance only has to absorb what another platform or library version rounds differently."""

ALPHA = 0.02
"""A gate calls a neutral change a regression with at most this probability."""

LOOKS = (6, 12, 24)
"""Repetitions of a scenario that is in doubt, after those of its suite."""

DECIDING = 12
"""Fewer pairs decide nothing: 2⁻¹² is below `ALPHA` / 2 shared among 40 scenarios."""

DOUBT = {6: 0.25, 12: 0.1}
"""From so many pairs on, a drop that is by chance with a greater probability is not pursued. It
saves repetitions and cannot add a false alarm."""

FAILING = ("regressed", "broken", "missing", "changed", "failed")
"""Verdicts, each of which fails the gate."""
PASSED, REGRESSION, RUN_FAILED, NOTHING_COMPARED = range(4)
"""Exit codes; never a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Verdict on a scenario or a requirement.

    A scenario is ``same``, ``passed``, ``improved``, ``regressed``, ``not judged`` (it dropped and
    too few repetitions were accepted to say that it is not by chance), ``missing``, ``changed``
    (data, metric, algorithm, its settings or its environment are not the accepted ones),
    ``failed`` (a job of it did not end ok) or ``new``. A requirement is ``met``, ``broken``,
    ``missing`` (not measured) or ``failed``.
    """

    name: str
    """Of the algorithm on leaderboards."""
    data: str
    verdict: str
    explanation: str
    requirement: str = ""
    """Its name; empty for a scenario."""
    bound: str = ""
    """Of a requirement, in words."""
    accepted: float = np.nan
    measured: float = np.nan
    """The mean; of a requirement the value nearest to the bound or farthest beyond it."""
    drop: Interval | None = None
    """Paired mean drop over the size of the accepted mean; positive is worse. None if nothing was
    compared."""
    n: int = 0
    """Repetitions."""
    wanted: int = 0
    """In doubt: with so many repetitions it is to be judged again; 0 if it need not be."""

    @property
    def title(self) -> str:
        """Name of what was judged."""
        if self.requirement:
            return f"requirement: {self.requirement}"
        return f"{self.name} on {self.data}"

    @property
    def fails(self) -> bool:
        """True if the verdict alone fails the gate."""
        return self.verdict in FAILING


def check_scores(frame: pd.DataFrame, scenarios: Sequence[Scenario]) -> tuple[Check, ...]:
    """Check every accepted scenario against a frame of results, and report new ones."""
    groups = dict(list(frame.groupby(["name", "data"], sort=False)))
    checks, compared = list[Check](), dict[int, Paired]()
    for place, one in enumerate(scenarios):
        rows = groups.pop((one.name, one.data), frame[:0])
        verdict, explanation = _incomparable(one, rows) or ("", "")
        if not verdict:
            done = rows[[str(seed) in one.scores for seed in rows["seed"]]]
            old = np.array([one.scores[str(seed)] for seed in done["seed"]])
            compared[place] = paired(old, done["score"].to_numpy(float), one.direction)
        checks.append(
            Check(name=one.name, data=one.data, verdict=verdict, explanation=explanation)
        )
    changed = sum(not pairs.same for pairs in compared.values())
    for place, pairs in compared.items():
        own = scenarios[place].tolerance
        allowed = (0.0 if pairs.constant else TOLERANCE) if own is None else own
        verdict, explanation, wanted = decide(
            pairs, allowed, changed, len(scenarios[place].scores)
        )
        checks[place] = replace(
            checks[place], verdict=verdict, explanation=explanation, wanted=wanted, n=pairs.n,
            accepted=pairs.old, measured=pairs.new, drop=pairs.drop,
        )  # fmt: skip
    for (name, data), rows in groups.items():
        scores, broken = rows[rows["status"] == "ok"]["score"], _failure(rows)
        text = f"new scenario, {broken}" if broken else "not in the baseline: accept it"
        checks.append(
            Check(name=name, data=data, verdict="failed" if broken else "new", explanation=text,
                  measured=scores.mean(), n=len(scores))
        )  # fmt: skip
    return tuple(checks)


def _incomparable(scenario: Scenario, rows: pd.DataFrame) -> tuple[str, str] | None:
    """Return verdict and explanation where scores cannot be paired, None where they can."""
    if rows.empty:
        return "missing", "no result: the scenario vanished from the suite"
    if broken := _failure(rows):
        return "failed", broken
    mine = rows[[str(seed) in scenario.scores for seed in rows["seed"]]]
    lost = mine[mine["status"] != "ok"] if len(mine) else rows
    if len(lost):
        reasons = "; ".join(sorted(set(mine["reason"]) - {""})) or "not accepted"
        return "missing", f"no score for seed {', '.join(map(str, lost['seed']))}: {reasons}"
    was = _compared(scenario, scenario.settings, scenario.environment)
    for row in mine.itertuples():
        now = _compared(row, plain_value(row.settings), plain_value(row.environment_options))
        for name in now:
            if name in was and now[name] != was[name]:
                return "changed", (
                    f"{name} is {now[name]!r}, accepted was {was[name]!r}:"
                    " the scores cannot be compared; accept again"
                )
    return None


def _failure(rows: pd.DataFrame) -> str:
    """Describe the end of the first job without a score; empty if each has one."""
    lost = rows[scoreless(rows)].itertuples()
    return next((f"seed {row.seed}: {row.status}: {row.reason}" for row in lost), "")


def _compared(of: Any, settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes a result another scenario where it differs.

    A setting or option that only one of both has does not count: code may gain and lose them.
    """
    found = {name: getattr(of, name) for name in ("metric", "direction", "digest", "algorithm")}
    found |= {f"setting {name}": value for name, value in sorted(settings.items())}
    return found | {f"option {name} of the environment": options[name] for name in sorted(options)}


def decide(pairs: Paired, allowed: float, changed: int, accepted: int) -> tuple[str, str, int]:
    """Return verdict, explanation, and the repetitions that are wanted to judge again."""
    if pairs.same:
        return "same", "the accepted scores again", 0
    drop, n, level = pairs.drop.value, pairs.n, ALPHA / (2 * changed)
    text = f"worse by {drop:.3%}" if drop > 0 else f"better by {-drop:.3%}"
    if drop <= 0 and (pairs.constant or pairs.p_value_of_gain <= level):
        return "improved", f"{text}: accept it as the new baseline", 0
    if drop <= max(allowed, ROUNDING):
        return "passed", text + (f", within the tolerance of {allowed:.2%}" if drop > 0 else ""), 0
    if pairs.constant and n >= DECIDING:
        how = f"tolerance {allowed:.2%}" if allowed else "exact scenario"
        return "regressed", f"{text} ({how})", 0
    text = f"{text} in {n} pairs, probability of such a drop {pairs.p_value_of_drop:.2g}"
    if n >= DECIDING and pairs.p_value_of_drop <= level:
        return "regressed", f"{text} (tolerance {allowed:.2%})", 0
    doubt = min((most for least, most in DOUBT.items() if n >= least), default=1.0)
    wanted = min(next((look for look in LOOKS if look > n), n), accepted)
    if pairs.p_value_of_drop <= doubt and wanted > n:
        return "passed", f"{text}: in doubt", wanted
    if n >= DECIDING or pairs.p_value_of_drop > doubt:
        return "passed", f"{text}: chance explains it", 0
    return "not judged", f"{text}: accept {LOOKS[-1]} repetitions to exclude chance", 0


def check_requirement(quantity: Quantity) -> Check:
    """Judge a requirement by what was measured."""
    requirement, worst = quantity.requirement, np.nan
    excesses = [requirement.excess(value) for value in quantity.values]
    n, n_broken = len(excesses), sum(excess > 0 for excess in excesses)
    n_allowed = requirement.allowed(n)
    verdict, text = "met", "met in every repetition"
    if not n:
        verdict, text = "failed" if quantity.failed else "missing", quantity.problem
    elif n_broken > n_allowed:
        allowed = f", chance explains {n_allowed}" if requirement.failure_probability else ""
        verdict, text = "broken", f"broken in {n_broken} of {n} repetitions{allowed}"
    elif n_broken:
        text = f"met but in {n_broken} of {n} repetitions, as chance explains"
    if n:
        worst = quantity.values[max(range(n), key=excesses.__getitem__)]
    return Check(
        requirement=requirement.name, name=requirement.algorithm, data=requirement.data,
        verdict=verdict, explanation=f"{text}; {requirement.reason}", bound=requirement.bound,
        measured=worst, n=n,
    )  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """All checks of one gate, and its exit code."""

    baseline: Baseline | None = None
    """What was accepted."""
    checks: tuple[Check, ...] = ()
    """Of scenarios."""
    requirements: tuple[Check, ...] = ()
    problems: tuple[str, ...] = ()
    """Problems in addition to failed jobs, such as a tracking store that is gone."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of the datasets in the suite, by reference."""

    @property
    def judged(self) -> tuple[Check, ...]:
        """All checks, then all requirements."""
        return (*self.checks, *self.requirements)

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared and judged."""
        return sum(one.drop is not None and one.verdict != "not judged" for one in self.checks)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression or broken requirement, 2 failed run, 3 nothing was compared."""
        verdicts = {one.verdict for one in self.judged}
        if "failed" in verdicts:
            return RUN_FAILED
        if verdicts & {"broken", "changed"}:
            return REGRESSION
        if not self.n_compared:
            return NOTHING_COMPARED
        if any(one.fails for one in self.judged):
            return REGRESSION
        return RUN_FAILED if self.problems else PASSED


def gate(
    frame: pd.DataFrame,
    baseline: Baseline | None,
    quantities: Sequence[Quantity] = (),
    *,
    problems: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
) -> Verdict:
    """Check every accepted scenario and every requirement, and report new scenarios.

    - `frame`: results, see `leaseboard.tasks.score.frame.as_frame`.
    - `baseline`: without one every scenario is new and nothing is compared; a broken requirement
      fails.
    - `quantities`: the suite's requirements, measured.
    - `problems`, `names`: as of `Verdict`.
    """
    return Verdict(
        baseline,
        check_scores(frame, baseline.scenarios if baseline else ()),
        tuple(map(check_requirement, quantities)),
        problems,
        names or {},
    )


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
