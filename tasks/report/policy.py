"""What a browser lets the page do: run its own two scripts and draw, and call nobody."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

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
