"""The server's paths: MLflow's scoring protocol, health, metrics."""

import asyncio
import hmac
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from leaseboard.algorithms.errors import DataError, LeaseboardError, UsageError, short
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.models.model import LEVEL
from leaseboard.tasks.serve import invocations
from leaseboard.tasks.serve.champion import Champion, Follower
from leaseboard.tasks.serve.desk import Desk
from leaseboard.tasks.serve.invocations import CSV, JSON, MOST_ROWS, refusal
from leaseboard.tasks.store.live_model import State

TOKEN = "LEASEBOARD_TOKEN"  # noqa: S105  (its name)
"""The variable of the environment that holds the token."""
MOST_BYTES = 2_000_000
"""Of a request."""
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Hosts without their ports."""
_BEARER = HTTPBearer(auto_error=False)

Given = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]


class Server:
    """What the paths of one live model's server share.

    - `token`: what requests must have but those for health; empty: none, on loopback only.
    - `clock`: says what time it is, in UTC.
    """

    def __init__(
        self, follower: Follower, state: State, token: str, clock: Callable[[], datetime]
    ) -> None:
        self.follower, self.state = follower, state
        self.token, self.desk = token.encode(), Desk(state, clock, follower.report)
        self.registry = CollectorRegistry()
        gauge = partial(Gauge, registry=self.registry)
        self.seconds = Histogram(
            "leaseboard_request_seconds", "How long requests took.", ["path", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.predictions = Counter(
            "leaseboard_predictions", "Rows that were predicted.", registry=self.registry
        )
        self.incidents = gauge("leaseboard_open_incidents", "Incidents that are open.")
        self.updates = gauge(
            "leaseboard_last_update_timestamp_seconds", "When an update ended last.", ["outcome"]
        )

    @property
    def champion(self) -> Champion:
        """The champion; a refusal if there is none yet."""
        if self.follower.champion is None:
            raise refusal(503, "no champion yet: run `leaseboard live update`")
        return self.follower.champion

    def trusts(self, given: HTTPAuthorizationCredentials | None) -> bool:
        """Return whether a request has the token, if there is one."""
        # The time that this takes says nothing about the token.
        sent = "" if given is None else given.credentials
        return not self.token or hmac.compare_digest(sent.encode(), self.token)

    def metrics(self) -> bytes:
        """Return the metrics, as of now."""
        lifecycle, updates = LifecycleState.read(self.state.lifecycle()), self.state.last_update()
        self.incidents.set(sum(each.is_open for each in lifecycle.cases))
        for outcome in updates.keys() & {"success", "failure"}:
            at = datetime.fromisoformat(updates[outcome])
            self.updates.labels(outcome).set(at.timestamp())
        return generate_latest(self.registry)


def _server(request: Request) -> Server:
    found: Server = request.app.state.server
    return found


Here = Annotated[Server, Depends(_server)]


def _check_token(server: Here, given: Given) -> None:
    if not server.trusts(given):
        said = "no token, or a wrong one: send the header Authorization: Bearer and what the"
        raise HTTPException(401, f"{said} server has in {TOKEN}", {"WWW-Authenticate": "Bearer"})


public, trusted = APIRouter(), APIRouter(dependencies=[Depends(_check_token)])


@trusted.post("/invocations", openapi_extra=invocations.DOCUMENTED)
async def invoke(request: Request, server: Here) -> dict[str, Any]:
    """Predict rows; each prediction is in the state before it is returned."""
    champion, rules = server.champion, server.follower.rules
    rows, params = invocations.read(*await _body(request, JSON, CSV), rules.columns)
    level = _level(champion, params.level)
    if not 0 < len(rows) <= MOST_ROWS:
        raise refusal(400, f"{len(rows):,} rows: send 1 to {MOST_ROWS:,} in a request")
    faults = map(rules.row_fault, rows)
    broken = [{"row": i, "reason": why} for i, why in enumerate(faults, 1) if why]
    if broken:
        said = f"row {broken[0]['row']}: {broken[0]['reason']}: fix it, or leave it out"
        more = f"({len(broken)} of {len(rows)} break the contract)"
        raise refusal(400, f"{said} {more}", refused=broken)
    ids = [rules.identity(row) or str(uuid.uuid4()) for row in rows]
    if len(set(ids)) < len(ids):
        twice = max(ids, key=ids.count)
        raise refusal(400, f"id {short(repr(twice), 60)} is that of several rows: send one")
    try:
        values = [champion.snapshot.read(row) for row in rows]
        found = await server.desk.ask(champion, ids, values, level)
    except DataError as error:
        raise refusal(400, str(error)) from error
    server.predictions.inc(len(rows))
    answer = invocations.answer(params, found, ids, level) | {"snapshot": champion.describe()}
    unknown = [rules.unknown(row) for row in rows]
    return answer | ({"unknown_categories": unknown} if any(unknown) else {})


@public.get("/ping")
async def ping(server: Here, given: Given) -> JSONResponse:
    """Return whether there is a champion, and which; with the token, also a fault."""
    champion, found = server.follower.champion, {"status": "ok"}
    if not await asyncio.to_thread(server.desk.recovers):
        found["status"] = "the state cannot be written"
    if champion is None:
        found["status"] = "no champion yet"
    status = 200 if found["status"] == "ok" else 503
    more = {} if champion is None else {"snapshot": champion.describe()}
    if server.trusts(given):  # it names places of this machine
        found["fault"] = "; ".join(filter(None, (server.follower.fault, server.desk.fault)))
    return JSONResponse(found | more, status)


@trusted.get("/version")
async def version() -> PlainTextResponse:
    """Return the version of MLflow."""
    return PlainTextResponse(installed("mlflow"))


@trusted.get("/metrics")
async def metrics(server: Here) -> PlainTextResponse:
    """Return the metrics, for Prometheus."""
    return PlainTextResponse(await asyncio.to_thread(server.metrics))


def application(server: Server) -> FastAPI:
    """Return the application that answers at the server's paths."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(server.desk.stop)

    app = FastAPI(
        title=f"Live model {server.follower.name}", version=f"{installed('leaseboard')}",
        lifespan=lifespan,
    )  # fmt: skip
    app.state.server = server
    app.include_router(public)
    app.include_router(trusted)
    for kind, status in ((AnyHTTPException, 0), (ClientDisconnect, 400), (LeaseboardError, 503)):
        app.add_exception_handler(kind, partial(_refused, status))

    @app.middleware("http")
    async def measure(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        began = time.perf_counter()
        try:
            answer = await call_next(request)
        except Exception as error:  # noqa: BLE001  (no traceback is a caller's)
            server.follower.report(f"internal error: {type(error).__name__}: {short(str(error))}")
            said = "internal error: the server's output says more"
            answer = JSONResponse({"error": said}, 500)
        path = getattr(request.scope.get("route"), "path", "other")
        seconds = server.seconds.labels(path, answer.status_code)
        seconds.observe(time.perf_counter() - began)
        return answer

    if not server.token:
        # A page in a browser here could ask us by a name of its own that leads to loopback.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)
    return app


async def _refused(status: int, _: Request, error: Exception) -> Response:
    if not isinstance(error, AnyHTTPException):
        error = AnyHTTPException(status, " ".join(str(error).split()))
    body: Any = error.detail
    body = body if isinstance(body, dict) else {"error": body}
    return JSONResponse(body, error.status_code, error.headers)


def check_place(host: str, token: str) -> None:
    """Raise UsageError if others could ask without a token."""
    try:
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not token and not is_loopback:
        raise UsageError(
            f"--host {host!r} lets other machines ask: set {TOKEN} in the environment to a secret"
            " first, such as the output of `openssl rand -hex 32`"
        )


async def _body(request: Request, *kinds: str) -> tuple[str, bytes]:
    """Return the content type and the body; refuse others, or a large body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:  # also what a page in a browser may not send unasked
        raise refusal(415, f"content type {short(kind, 60)!r}: send {' or '.join(kinds)}")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise refusal(413, f"more than {MOST_BYTES:,} bytes: send fewer rows in a request")
    return kind, bytes(body)


def _level(champion: Champion, wanted: float | None) -> float | None:
    """Return the level of the intervals; None without intervals."""
    levels = champion.snapshot.levels
    if wanted is None:
        return LEVEL if LEVEL in levels else None
    if wanted not in levels:
        fix = f"name one of {', '.join(map(str, levels))}" if levels else "leave it out"
        raise refusal(400, f"level {wanted:g}: this model has no such intervals: {fix}")
    return wanted
