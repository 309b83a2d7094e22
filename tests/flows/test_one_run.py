"""A flow run of a command is on record in full when the command ends."""

from types import SimpleNamespace

import pytest

from leaseboard.flows import prefect_executor as one_run


@pytest.mark.parametrize(("counts", "asked"), [([0, 0, 1, 1, 2, 3], 6), ([0, 1], None)])
def test_a_server_is_waited_for_while_it_gets_on(monkeypatch, counts, asked):
    """Slower in all than the limit, but never as long without progress; then stuck for good."""
    calls = iter(counts)
    last = counts[-1]

    class Client:
        asked = 0

        def request(self, *_, **__):
            self.asked += 1
            return SimpleNamespace(json=lambda: next(calls, last))

    client = Client()
    clock = iter(range(10**6))
    monkeypatch.setattr(one_run, "DRAIN_SECONDS", 3)
    monkeypatch.setattr(one_run.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(one_run.time, "sleep", lambda _: None)

    one_run._drain(client, "run", expected=3)

    assert client.asked == asked if asked else 2 < client.asked < 10
