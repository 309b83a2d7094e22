"""The frame of a page: one file with its style, its script and its data, that calls nobody.

Data are gzipped JSON in base64, unpacked by the browser when they are looked at.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.report.draw.specs import compact
from tasks.report.policy import content_security_policy
from tasks.report.provenance import packages
from tasks.report.section import Section


def page_of(
    template: str,
    *,
    title: str,
    sections: Sequence[Section],
    package: str = "tasks.report",
    home: str = "",
    **content: Any,
) -> str:
    """A page as HTML.

    - `template`: extends ``shell.html``; among the templates of `package`, or our own.
    - `home`: the address of the site that the page is of, if it is of one.
    - `content`: what else the template asks for.
    """
    script, plotly = static("report.js"), _plotly()
    return (
        jinja(package)
        .get_template(template)
        .render(
            title=title,
            sections=sections,
            home=home,
            leaseboard=packages().get("leaseboard", ""),
            style=Markup(static("report.css")),  # noqa: S704  (our own files)
            script=Markup(script),  # noqa: S704
            plotly=packed_text(plotly),
            policy=content_security_policy([script, plotly]),
            **content,
        )
    )


def jinja(package: str) -> Environment:
    """What reads the templates of `package`, and ours: names are shown as they are."""
    loaders = [PackageLoader(name) for name in dict.fromkeys((package, "tasks.report"))]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["packed"] = packed
    return environment


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script: str = get_plotlyjs()
    return script


def static(name: str) -> str:
    """A file of ours that a page holds."""
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")


def packed(value: Any) -> str:
    """`value` as text that is safe in HTML and about a third of its JSON's size."""
    return packed_text(compact(value))


def packed_text(content: str) -> str:
    """Text, packed; equal text gives equal bytes."""
    return base64.b64encode(gzip.compress(content.encode(), compresslevel=9, mtime=0)).decode()


def unpacked(content: str) -> Any:
    """The inverse of `packed`."""
    return json.loads(gzip.decompress(base64.b64decode(content)))
