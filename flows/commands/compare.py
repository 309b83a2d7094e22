"""``leaseboard compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaseboard.flows.folders import check_file


def compare(
    a: Annotated[Path, typer.Argument(help="The output folder of a run.")],
    b: Annotated[Path, typer.Argument(help="The output folder of another run.")],
    json: Annotated[Path | None, typer.Option(help="Also write it there as JSON.")] = None,
) -> int:
    """Say what changed from run A to run B, seed by seed, and whether chance explains it.

    Example: leaseboard compare runs/before runs/after
    """
    from leaseboard.tasks.folder.results import shown_at
    from leaseboard.tasks.machine.terminal import show
    from leaseboard.tasks.score import compare as core
    from leaseboard.tasks.score.frame import as_frame

    if json is not None:
        check_file(json)
    found = core.compare(*(as_frame(shown_at(run)) for run in (a, b)))
    if json is not None:
        json.write_text(core.as_json(found), encoding="utf-8")
    show(core.renderable(found, (str(a), str(b))))
    return 0 if found.n_compared else 3
