"""Text from outside: a terminal shows it, and obeys nothing in it."""

import io
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from leaseboard.tasks.machine.terminal import cell, shown

TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_obeyed(sign):
    if sign in "\n\t":
        return False
    kind = unicodedata.category(sign)
    return kind in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(sign) in TURNING


@given(st.text(st.characters()))  # lone surrogates, too
@example("x\x1b[2Jy\x1b]0;title\x07\x9b31m\r\u202eevil\ud800")
def test_nothing_that_a_terminal_obeys_is_left(text):
    said = shown(text)

    assert not any(map(is_obeyed, said))
    said.encode()


def test_a_cell_is_neither_obeyed_nor_markup():
    table = Table(box=None)
    table.add_column("name")
    table.add_row(cell("[red]\x1b[2Jx"))
    console = Console(file=io.StringIO(), force_terminal=False, color_system=None, width=60)
    console.print(table)

    assert "[red]\\x1b[2Jx" in console.file.getvalue()
