"""The server's paths: ``/predict``, ``/labels``, ``/health`` and ``/metrics``.

Callers may be slow, or mean harm: heads and bodies of requests are bounded in bytes and seconds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from leaseboard.algorithms.errors import LeaseboardError, short
from leaseboard.tasks.serve.admission import Admission, RefusedError
from leaseboard.tasks.serve.service import ForecastService

MOST_BYTES = 2_000_000
"""Of a request's body."""
PATIENCE = 10.0
"""Seconds until the head of a request must be here, and after it until its body must."""

Answer = tuple[int, dict[str, Any] | bytes]
"""The status, and what is told."""


def application(service: ForecastService, admission: Admission) -> Starlette:
    """The paths of the server."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.stop)

    async def predict(request: Request) -> Answer:
        return 200, await service.predict(await _body(request))

    async def labels(request: Request) -> Answer:
        return 202, await service.labels(await _body(request))

    async def health(request: Request) -> Answer:
        trusted = admission.trusts(dict(request.scope["headers"]))
        return await service.health(trusted=trusted)

    async def metrics(_: Request) -> Answer:
        return 200, await asyncio.to_thread(service.metrics)

    async def nowhere(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        offered = ", ".join(f"{method} {path}" for path, (method, _) in paths.items())
        said = f"{request.method} {short(request.url.path, 100)!r} is none of {offered}"
        return _response(error.status_code, {"error": said})

    paths = {"/predict": ("POST", predict), "/labels": ("POST", labels),
             "/health": ("GET", health), "/metrics": ("GET", metrics)}  # fmt: skip
    routes = [
        Route(path, _route(service, admission, path, answer), methods=[method])
        for path, (method, answer) in paths.items()
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: nowhere})
    app.router.redirect_slashes = False
    return app


def _route(
    service: ForecastService,
    admission: Admission,
    path: str,
    answer: Callable[[Request], Awaitable[Answer]],
) -> Callable[[Request], Awaitable[Response]]:
    """What answers at a path, and counts."""
    meters = service.meters

    async def answered(request: Request) -> Response:
        began = time.perf_counter()
        client = request.client.host if request.client else ""
        try:
            admission.check(path, client, dict(request.scope["headers"]))
            found = _response(*await answer(request))
        except RefusedError as refused:
            meters.refusals.labels(refused.kind).inc()
            found = _response(refused.status, {"error": str(refused), **refused.more})
        except ClientDisconnect:
            meters.refusals.labels("gone").inc()
            found = _response(400, {"error": "the caller went away before the body was here"})
        except LeaseboardError as error:
            meters.errors.inc()
            found = _response(503, {"error": " ".join(str(error).split())})
        except Exception as error:  # noqa: BLE001  (no traceback is a caller's)
            meters.errors.inc()
            said = f"internal error: {type(error).__name__}: {short(str(error))}"
            service.follower.tell(said)
            found = _response(500, {"error": "internal error: the server's output says more"})
        meters.requests.labels(path, found.status_code).inc()
        meters.seconds.labels(path).observe(time.perf_counter() - began)
        return found

    return answered


def _response(status: int, told: dict[str, Any] | bytes) -> Response:
    if isinstance(told, bytes):
        return Response(told, status, media_type="text/plain; version=0.0.4; charset=utf-8")
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return Response(json.dumps(told, allow_nan=False), status, headers, "application/json")


async def _body(request: Request) -> bytes:
    """The body of a request; RefusedError beyond the bounds."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # also what a page in a browser may not send unasked
        raise RefusedError(
            415, "content type", f"content type {short(kind, 60)!r}: send application/json"
        )
    coding = request.headers.get("content-encoding", "identity")
    if coding.lower() != "identity":  # a few bytes of gzip are gigabytes
        said = f"content encoding {short(coding, 60)!r}: send the body as it is"
        raise RefusedError(415, "content encoding", said)
    parts, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                size += len(part)
                if size > MOST_BYTES:
                    said = f"more than {MOST_BYTES:,} bytes: send fewer rows in a request"
                    raise RefusedError(413, "size", said)
                parts.append(part)
    except TimeoutError:
        said = f"the body was not here after {PATIENCE:g} seconds: send it at once"
        raise RefusedError(408, "slow", said) from None
    return b"".join(parts)


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
