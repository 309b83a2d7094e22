"""Passwords of addresses are hidden, and a terminal obeys nothing in a text."""

import traceback
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.machine import addresses
from leaseboard.tasks.machine.terminal import shown
from leaseboard.tasks.track.store import TrackingError, open_store

MARK = "5ECRET"
PASSWORDS = st.tuples(
    st.text("#/?[]@%: &=;+'\\\"\\\\aé漢", max_size=4), st.text("#/?[]@%: &=;+ab漢", max_size=4)
).map(MARK.join)
SCHEMES = st.sampled_from(
    ["mysql+nodriver", "postgresql+nodriver", "mssql+nodriver", "nothing", "http", "https"]
)


@given(SCHEMES, PASSWORDS, st.booleans())
def test_a_password_is_hidden_wherever_a_parser_would_end_it(scheme, password, in_query):
    address = f"{scheme}://me:{password}@127.0.0.1:1/db"
    if in_query:
        address = f"{scheme}://127.0.0.1:1/db?password={password}"

    assert MARK not in addresses.redacted(address)
    assert MARK not in addresses.scrubbed(f"cannot open {address} at all", [address])
    assert addresses.redacted(address).startswith(f"{scheme}://")


@settings(max_examples=60)
@given(SCHEMES, PASSWORDS)
def test_a_store_that_fails_says_nothing_of_its_password(environment, scheme, password):
    address = f"{scheme}://me:{password}@127.0.0.1:1/db"
    with pytest.raises(TrackingError) as caught:
        open_store(address)

    assert MARK not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "the MLflow store" in str(caught.value)
    trace = "".join(traceback.format_exception(caught.value))
    assert MARK not in addresses.scrubbed(trace, [address])


def test_the_rest_stays():
    for address, said in (
        ("postgresql://me:pass@host:5432/m?password=pass", "postgresql://***@host:5432/m"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("http://[::1]:5000/x", "http://[::1]:5000/x"),
        ("sqlite:////a@b/c#d?e%20f.db", "sqlite:////a@b/c#d?e%20f.db"),
        ("postgresql://me:pass", "postgresql://***"),
        ("me:pass@host/db", "***@host/db"),
        ("mlruns", "mlruns"),
    ):
        assert addresses.redacted(address) == said


def test_variables_are_filled_from_the_environment(monkeypatch):
    monkeypatch.setenv("KEEP_PASSWORD", MARK)

    assert addresses.filled("mailto://me:$KEEP_PASSWORD@host") == f"mailto://me:{MARK}@host"
    assert addresses.is_variable("$KEEP_PASSWORD")
    assert not addresses.is_variable("x$KEEP_PASSWORD")
    monkeypatch.delenv("KEEP_PASSWORD")
    with pytest.raises(UsageError, match="the variable KEEP_PASSWORD is not set"):
        addresses.filled("mailto://me:$KEEP_PASSWORD@host")


@pytest.mark.parametrize(
    ("named", "store", "seen"),
    [
        ("", "sqlite:///a.db", "http://127.0.0.1:5000"),
        ("", "https://me:secret@mlflow.example/x/", "https://mlflow.example/x"),
        ("https://u:p@ui.example/", "http://mlflow:5000", "https://ui.example"),
        ("https://ui.example", "postgresql://me:secret@db/mlflow", "https://ui.example"),
    ],
)
def test_links_lead_to_where_users_see_the_store(monkeypatch, named, store, seen):
    monkeypatch.setenv("MLFLOW_UI_URL", named)
    assert addresses.mlflow_ui(store) == seen


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
