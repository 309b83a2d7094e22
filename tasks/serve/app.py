"""The server's paths: MLflow's scoring protocol, labels, health, metrics."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from leaseboard.algorithms.errors import LeaseboardError, short
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.serve import invocations
from leaseboard.tasks.serve.admission import Admission, RefusedError
from leaseboard.tasks.serve.service import PredictionService

MOST_BYTES = 2_000_000
"""Of a request's body."""

Answer = tuple[int, Any]
"""The status and the body; one that is bytes is a text."""
Handler = Callable[[Request], Awaitable[Answer]]


class Paths:
    """Answers of the server by method and path."""

    def __init__(self, service: PredictionService, admission: Admission) -> None:
        self._service, self._admission = service, admission
        self.handlers: dict[tuple[str, str], Handler] = {
            ("POST", "/invocations"): self._invoke, ("POST", "/labels"): self._labels,
            ("GET", "/ping"): self._health, ("GET", "/health"): self._health,
            ("GET", "/version"): self._version, ("GET", "/metrics"): self._metrics,
        }  # fmt: skip

    async def _invoke(self, request: Request) -> Answer:
        """Predict rows."""
        kind, body = await _body(request, (invocations.JSON, invocations.CSV))
        rows, params = invocations.read(body, kind, self._service.follower.rules.columns)
        return 200, invocations.answer(params, await self._service.predict(rows, params.level))

    async def _version(self, _: Request) -> Answer:
        """Return the version of MLflow."""
        return 200, f"{installed('mlflow')}".encode()

    async def _labels(self, request: Request) -> Answer:
        """Store labels until the next update joins them by id."""
        _, body = await _body(request, (invocations.JSON,))
        return 202, await self._service.labels(body)

    async def _health(self, request: Request) -> Answer:
        """Return whether there is a champion, and which."""
        trusted = self._admission.trusts(dict(request.scope["headers"]))
        return await self._service.health(trusted=trusted)

    async def _metrics(self, _: Request) -> Answer:
        """Return the metrics, for Prometheus."""
        return 200, await asyncio.to_thread(self._service.metrics)


def application(service: PredictionService, admission: Admission) -> Starlette:
    """Return the application that answers at the server's paths."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.stop)

    async def refuse(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _response(error.status_code, {"error": error.detail})

    routes = [
        Route(path, _route(service, admission, path, handler), methods=[method])
        for (method, path), handler in Paths(service, admission).handlers.items()
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: refuse})


def _route(
    service: PredictionService, admission: Admission, path: str, answer: Handler
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers at a path, and counts."""
    meters = service.meters

    async def answered(request: Request) -> Response:
        began = time.perf_counter()
        try:
            admission.check(path, dict(request.scope["headers"]))
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
            service.follower.report(said)
            found = _response(500, {"error": "internal error: the server's output says more"})
        meters.requests.labels(path, found.status_code).inc()

        async def measure() -> None:
            meters.seconds.labels(path).observe(time.perf_counter() - began)

        found.background = BackgroundTask(measure)  # once it is sent, as its caller waits for that
        return found

    return answered


def _response(status: int, body: Any) -> Response:
    if isinstance(body, bytes):
        return Response(body, status, media_type="text/plain; version=0.0.4; charset=utf-8")
    headers = {503: {"Retry-After": "1"}, 401: {"WWW-Authenticate": "Bearer"}}.get(status)
    return Response(json.dumps(body, allow_nan=False), status, headers, "application/json")


async def _body(request: Request, kinds: Sequence[str]) -> tuple[str, bytes]:
    """Return the content type and the body; raise RefusedError for others, or a large body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:  # also what a page in a browser may not send unasked
        said = f"content type {short(kind, 60)!r}: send {' or '.join(kinds)}"
        raise RefusedError(415, "content type", said)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            said = f"more than {MOST_BYTES:,} bytes: send fewer rows in a request"
            raise RefusedError(413, "size", said)
        parts.append(part)
    return kind, b"".join(parts)
