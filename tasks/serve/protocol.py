"""HTTP for callers who may be slow, or mean harm: uvicorn's, which waits for a head for ever."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds until the head of a request must be here."""


class PatientProtocol(H11Protocol):
    """Closes a connection on which no whole head of a request has come in `PATIENCE`.

    Between two requests uvicorn has a limit of its own, until the first byte of the second.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._limit = self.loop.call_later(PATIENCE, transport.close)

    def data_received(self, data: bytes) -> None:
        """Wait no longer if a head is whole now; go on waiting for one that has begun."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
        elif self._limit is None and not self.transport.is_closing():
            self._limit = self.loop.call_later(PATIENCE, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait_no_more(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
