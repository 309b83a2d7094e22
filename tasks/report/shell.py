"""The frame of a page: one file with its style, its script and its data, that calls nobody.

Data are gzipped JSON in base64, unpacked by the browser when they are looked at. A browser lets
the page run its own two scripts and draw.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.report.draw.specs import compact
from leaseboard.tasks.report.section import Section


def page_of(
    template: str,
    *,
    title: str,
    sections: Sequence[Section],
    package: str = "leaseboard.tasks.report",
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
    loaders = [PackageLoader(name) for name in dict.fromkeys((package, "leaseboard.tasks.report"))]
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


PACKAGES = (
    "leaseboard", "numpy", "scipy", "pandas", "numba", "scikit-learn", "lightgbm", "hyperopt",
    "vowpalwabbit", "prefect", "mlflow", "plotly",
)  # fmt: skip


def packages() -> dict[str, str]:
    """Versions of Python and of the installed packages that scores depend on."""
    return versions(PACKAGES)


_DRAWING = (
    "style-src 'unsafe-inline'",  # the page's own sheet; a chart sets the style of each element
    "img-src data: blob:",  # a chart that is saved as a picture
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
)


def content_security_policy(scripts: Iterable[str]) -> str:
    """The policy under which no script runs but `scripts`, each by the digest of its text.

    Examples
    --------
    >>> content_security_policy(["alert(1)"])[:84]
    "default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(["default-src 'none'", f"script-src {hashes}", *_DRAWING])
