"""The server's paths: MLflow's scoring protocol, the Open Inference Protocol, labels, metrics.

Callers may be slow, or mean harm: heads and bodies of requests are bounded in bytes and seconds.
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from leaseboard.algorithms.errors import LeaseboardError, short
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.serve import inference, invocations, openapi
from leaseboard.tasks.serve.admission import PAGES, Admission, RefusedError
from leaseboard.tasks.serve.champion import Champion
from leaseboard.tasks.serve.service import PredictionService

MOST_BYTES = 2_000_000
"""Of a request's body."""
PATIENCE = 10.0
"""Seconds until the head of a request must be here, and after it until its body must."""

Answer = tuple[int, Any]
"""The status and the body; one that is bytes is a text."""
Handler = Callable[[Request], Awaitable[Answer]]


class Paths:
    """Answers of the server by method and path."""

    def __init__(self, service: PredictionService, admission: Admission) -> None:
        self._service, self._admission, self._follower = service, admission, service.follower
        one, exact = "/v2/models/{name}", "/v2/models/{name}/versions/{version}"
        self.handlers: dict[tuple[str, str], Handler] = {
            ("POST", "/invocations"): self._invoke, ("POST", "/labels"): self._labels,
            ("GET", "/ping"): self._health, ("GET", "/health"): self._health,
            ("GET", "/version"): self._version, ("GET", "/metrics"): self._metrics,
            ("GET", "/docs"): self._docs, ("GET", "/openapi.json"): self._openapi,
            ("GET", "/v2"): self._server, ("GET", "/v2/health/live"): self._live,
            ("GET", "/v2/health/ready"): self._ready,
            **{("GET", path): self._model for path in (one, exact)},
            **{("GET", f"{path}/ready"): self._ready for path in (one, exact)},
            **{("POST", f"{path}/infer"): self._infer for path in (one, exact)},
        }  # fmt: skip

    async def _invoke(self, request: Request) -> Answer:
        """Predict rows, in MLflow's scoring protocol."""
        kind, body = await _body(request, (invocations.JSON, invocations.CSV))
        rows, params = invocations.read(body, kind, self._follower.rules.columns)
        return 200, invocations.answer(params, await self._service.predict(rows, params.level))

    async def _infer(self, request: Request) -> Answer:
        """Predict rows, in the Open Inference Protocol."""
        if "inference-header-content-length" in request.headers:
            said = "the tensors are binary: send them as JSON, with binary_data=False"
            raise RefusedError(400, "shape", said)
        _, body = await _body(request)
        champion = self._served(request)  # it may have changed while the body came
        rows, sent = inference.read(body, self._follower.rules.columns)
        inference.check_outputs(sent, champion)
        found = await self._service.predict(rows, sent.parameters.level)
        return 200, inference.answer(sent, found)

    async def _model(self, request: Request) -> Answer:
        """Return the inputs and outputs of the model."""
        return 200, inference.metadata(self._served(request), self._follower.rules.columns)

    async def _server(self, _: Request) -> Answer:
        """Return the name and version of the server."""
        return 200, {"name": "leaseboard", "version": installed("leaseboard"), "extensions": []}

    async def _live(self, _: Request) -> Answer:
        """Return that the server lives."""
        return 200, {"live": True}

    async def _ready(self, request: Request) -> Answer:
        """Return whether the model can predict."""
        named = {"name": self._served(request).name} if request.path_params else {}
        status, _ = await self._service.health(trusted=False)
        return status, {**named, "ready": status == 200}

    async def _version(self, _: Request) -> Answer:
        """Return the version of MLflow."""
        return 200, f"{installed('mlflow')}".encode()

    async def _openapi(self, _: Request) -> Answer:
        """Return this list of paths as OpenAPI."""
        return 200, self._document()

    async def _docs(self, _: Request) -> Answer:
        """Return this list of paths as a page."""
        return 200, openapi.page(self._document()).encode()

    def _document(self) -> dict[str, Any]:
        whats = {each: handler.__doc__ or "" for each, handler in self.handlers.items()}
        served = self._follower.champion
        version = served.version if served is not None else "1"
        return openapi.document(whats, self._follower.name, version, self._follower.rules.columns)

    async def _labels(self, request: Request) -> Answer:
        """Store labels until the next update joins them by id."""
        _, body = await _body(request)
        return 202, await self._service.labels(body)

    async def _health(self, request: Request) -> Answer:
        """Return whether there is a champion, and which."""
        trusted = self._admission.trusts(dict(request.scope["headers"]))
        return await self._service.health(trusted=trusted)

    async def _metrics(self, _: Request) -> Answer:
        """Return the metrics, for Prometheus."""
        return 200, await asyncio.to_thread(self._service.metrics)

    def _served(self, request: Request) -> Champion:
        """Return the champion; raise RefusedError if a request names another model or version."""
        name, number = (request.path_params.get(each) for each in ("name", "version"))
        if name != self._follower.name:
            said = f"no model {short(repr(name), 60)} is here: ask for {self._follower.name!r}"
            raise RefusedError(404, "model", said)
        champion = self._service.champion()
        if number not in (None, champion.version):
            shown, there = short(repr(number), 60), champion.version
            said = f"version {shown} of {name} is not served: leave it out, or ask for {there}"
            raise RefusedError(404, "model", said)
        return champion


def application(service: PredictionService, admission: Admission) -> Starlette:
    """Return the application that answers at the server's paths."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.stop)

    async def refuse(request: Request) -> Answer:
        offered = ", ".join(f"{method} {path}" for method, path in handlers)
        asked = f"{short(request.method, 20)} {short(request.url.path, 100)!r}"
        said = f"{asked} is not one of {offered}"
        allowed = any(route.matches(request.scope)[0] is Match.PARTIAL for route in routes)
        raise RefusedError(405 if allowed else 404, "path", said)

    async def nowhere(request: Request, _: Exception) -> Response:
        return await elsewhere(request)

    elsewhere = _route(service, admission, "elsewhere", refuse)
    handlers = Paths(service, admission).handlers
    routes = [
        Route(path, _route(service, admission, path, handler), methods=[method])
        for (method, path), handler in handlers.items()
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: nowhere})
    app.router.redirect_slashes = False
    return app


def _route(
    service: PredictionService, admission: Admission, path: str, answer: Handler
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers at a path, and counts."""
    meters = service.meters

    async def answered(request: Request) -> Response:
        began = getattr(request.state, "arrived", time.perf_counter())
        client = request.client.host if request.client else ""
        try:
            admission.check(path, client, dict(request.scope["headers"]))
            found = _response(*await answer(request))
        except RefusedError as refused:
            meters.refusals.labels(refused.kind).inc()
            found = _response(refused.status, {"error": str(refused), **refused.more})
            if refused.status == 401:
                found.headers["WWW-Authenticate"] = "Basic" if path in PAGES else "Bearer"
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
        is_page = body.startswith(b"<!doctype html>")
        kind = "text/html" if is_page else "text/plain; version=0.0.4"
        return Response(body, status, media_type=f"{kind}; charset=utf-8")
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return Response(json.dumps(body, allow_nan=False), status, headers, "application/json")


async def _body(request: Request, kinds: Sequence[str] = (invocations.JSON,)) -> tuple[str, bytes]:
    """Return the content type and the body; raise RefusedError for others, or beyond the bounds.

    Without a content type it is JSON, unless a page in a browser sends it, which says so.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind and "origin" not in request.headers:
        kind = invocations.JSON
    if kind not in kinds:  # also what a page in a browser may not send unasked
        said = f"content type {short(kind, 60)!r}: send {' or '.join(kinds)}"
        raise RefusedError(415, "content type", said)
    coding = request.headers.get("content-encoding", "identity")
    if coding.lower() != "identity":  # a few bytes of gzip are gigabytes
        said = f"content encoding {short(coding, 60)!r}: send the body without any"
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
    return kind, b"".join(parts)


class PatientProtocol(H11Protocol):
    """Protocol that closes a connection without a whole head of a request in `PATIENCE`.

    Between two requests uvicorn has a limit of its own, until the first byte of the second.
    Head and body of an answer are sent at once: without TCP_NODELAY the body would wait until the
    head is acknowledged, which takes 40 ms.
    """

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._limit = self.loop.call_later(PATIENCE, transport.close)

    def data_received(self, data: bytes) -> None:
        """Wait no longer if a head is whole now; go on waiting for one that has begun."""
        self.app_state["arrived"] = time.perf_counter()  # the state of a request that begins here
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
