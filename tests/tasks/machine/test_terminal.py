"""Text from outside: a terminal shows it, and obeys nothing in it."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from leaseboard.tasks.machine.terminal import shown

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
