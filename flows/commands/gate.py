"""``leaseboard gate``: fail when an algorithm got worse than the accepted scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import AsJson, Local, RunDir, SuiteName, opt
from leaseboard.flows.console import check_file, say

_UPDATE = "Write the scores of this run as baseline scores, and compare nothing."
_SEEDS = "Number of seeds that --update-baseline records (default: 24)."
_MARKDOWN = "Also write the verdict to this file, as Markdown."


def gate(
    suite: SuiteName,
    update_baseline: Annotated[bool, opt(_UPDATE, "", "--update-baseline")] = False,
    repetitions: Annotated[int | None, opt(_SEEDS, "N", min=1)] = None,
    markdown: Annotated[Path | None, opt(_MARKDOWN, "PATH")] = None,
    as_json: AsJson = False,
    run_dir: RunDir = None,
    local: Local = False,
) -> int:
    """Run a suite and compare it with its baseline scores and requirements, for CI.

    Exits with 0 if all pass, with 1 for a regression, with 2 if a job failed, and with 3 if
    nothing could be compared. Baseline scores are in
    conf/baselines/NAME.json, or in baselines/NAME.json next to a suite that is a YAML file.

    Example: leaseboard gate ci --markdown comment.md
    """
    from leaseboard.flows.dispatch import RunOptions
    from leaseboard.flows.gate import Gate
    from leaseboard.tasks.score.gate import formats
    from leaseboard.tasks.score.summary import listed, several

    if update_baseline and (markdown or as_json):
        raise UsageError("--update-baseline compares nothing: omit it, or where a verdict goes")
    if repetitions is not None and not update_baseline:
        raise UsageError("--repetitions needs --update-baseline: the gate repeats where in doubt")
    if markdown is not None:
        check_file(markdown)
    made = Gate(suite, run_dir, RunOptions(local=local, boarded=False))
    if update_baseline:
        accepted, path = made.accept(repetitions or 24)
        counts = [several(len(accepted.scenarios), "scenario")]
        if accepted.requirements:
            counts.append(several(len(accepted.requirements), "requirement"))
        say(f"accepted {listed(counts)} in {path}")
        return 2 if made.problems else 0
    verdict = made.compare()
    page = formats.markdown(verdict)
    if markdown is not None:
        markdown.write_text(page, encoding="utf-8")
    say(formats.as_json(verdict).rstrip() if as_json else page)
    return verdict.exit_code
