"""Access to the server: by token and by host."""

from __future__ import annotations

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.serve.admission import Admission, RefusedError, check_place


def test_without_a_token_only_this_machine_is_asked_by_its_own_name():
    door = Admission("")
    for host in (b"127.0.0.1:8507", b"localhost", b"[::1]:80"):
        door.check("/invocations", {b"host": host})
    for host in (b"evil.example", b"", b"10.0.0.1"):
        with pytest.raises(RefusedError, match="is not this machine"):
            door.check("/invocations", {b"host": host})


@pytest.mark.parametrize("given", [b"", b"Bearer", b"Bearer wrong", b"secret", b"Bearer \xff"])
def test_a_wrong_token_is_refused_everywhere_but_at_health(given):
    door = Admission("secret")
    door.check("/invocations", {b"authorization": b"Bearer secret"})
    door.check("/health", {})
    for path in ("/invocations", "/labels", "/metrics"):
        with pytest.raises(RefusedError) as caught:
            door.check(path, {b"authorization": given})
        assert caught.value.status == 401
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "end\n", " ", "s\xe9same", "\0"])
def test_a_token_that_no_one_can_send_is_refused_at_the_start(token):
    with pytest.raises(UsageError, match="holds a space or another sign") as caught:
        check_place("127.0.0.1", token)
    assert "\n" not in str(caught.value)


def test_others_may_ask_with_a_token_alone():
    check_place("127.0.0.1", "")
    check_place("localhost", "")
    check_place("::1", "")
    check_place("0.0.0.0", "secret")
    for host in ("0.0.0.0", "example.org", "::"):
        with pytest.raises(UsageError, match="set LEASEBOARD_TOKEN in the environment"):
            check_place(host, "")
