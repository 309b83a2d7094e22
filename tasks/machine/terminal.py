r"""What comes from outside, as text that a terminal shows and does not obey.

A label of a bundle, a name of a model in a shared store, what a server answered: each may hold
signs that clear the screen, rename its window, or turn a line around. All that is printed goes
through here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leaseboard.tasks.machine.addresses import discreet

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for the tab and the end of a line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # those that turn the direction of a text
    "\u2028\u2029\ud800-\udfff]"  # other ends of lines; what no encoding can write
)


def shown(text: str) -> str:
    r"""`text` with every sign that a terminal would obey written out; its lines stay lines.

    Examples
    --------
    >>> print(shown("cha\x1b[2Jcha"))
    cha\x1b[2Jcha
    """
    return _OBEYED.sub(lambda sign: sign[0].encode("unicode_escape").decode("ascii"), text)


def harmless(text: str) -> str:
    """`text` with nothing that a terminal obeys, and no password that this process was given."""
    return shown(discreet(text))


def cell(text: str, style: str = "") -> Text:
    """`text` for a table of `rich`: `harmless`, and not read as markup."""
    from rich.text import Text

    return Text(harmless(text), style)


def show(made_of_cells: RenderableType, console: Console | None = None) -> None:
    """Print what `rich` lays out, on standard output unless a console is given."""
    from rich.console import Console

    (console or Console(highlight=False)).print(made_of_cells)
