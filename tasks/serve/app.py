"""The server's paths: MLflow's scoring protocol, health, metrics."""

import asyncio
import hmac
import math
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from typing import Annotated, Any, Self

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, model_validator
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from leaseboard.algorithms.errors import DataError, LeaseboardError, UsageError, rule, short
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.models.model import LEVEL, Prediction, likeliest
from leaseboard.tasks.serve.champion import Desk, Follower
from leaseboard.tasks.store.live_model import State

TOKEN = "LEASEBOARD_TOKEN"  # noqa: S105  (its name)
"""The variable of the environment that holds the token."""
MOST_BYTES, MOST_ROWS = 2_000_000, 1000
"""Of a request."""
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
"""Hosts without their ports."""
EXAMPLE = '{"dataframe_records": [{...}]}'

Given = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def refusal(status: int, message: str, **more: object) -> HTTPException:
    """Return the refusal of a request, in one line: what, the rule, how to fix it."""
    return HTTPException(status, {"error": " ".join(message.split()), **more})


class Body(BaseModel):
    """Body of a request, or a part of it, with no other keys."""

    model_config = ConfigDict(extra="forbid")


class SplitTable(Body):
    """Table as ``pandas.DataFrame.to_dict(orient="split")`` returns it."""

    columns: list[str]
    index: Any = None
    data: list[list[Any]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len({len(self.columns), len(set(self.columns)), *map(len, self.data)}) > 1:
            raise ValueError("a row has one value for each column, and a column is there once")
        return self


class Invocation(Body):
    """Body of ``/invocations``: one of two forms of rows; `params` change nothing."""

    dataframe_split: SplitTable | None = None
    dataframe_records: list[dict[str, Any]] | None = None
    params: Any = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, 1 to `MOST_ROWS` of them."""
        split, rows = self.dataframe_split, self.dataframe_records
        if (split is None) == (rows is None):
            raise refusal(400, f"send one form of rows, such as {EXAMPLE}")
        if split is not None:
            rows = [dict(zip(split.columns, row, strict=True)) for row in split.data]
        if not rows or len(rows) > MOST_ROWS:
            raise refusal(400, f"{len(rows or ()):,} rows: send 1 to {MOST_ROWS:,} in a request")
        return rows


class Server:
    """Server of one live model.

    - `token`: what requests must have but those for health; empty: none, on loopback only.
    - `clock`: says what time it is, in UTC.
    """

    def __init__(
        self, follower: Follower, state: State, token: str, clock: Callable[[], datetime]
    ) -> None:
        self.follower, self.state = follower, state
        self.token, self.desk = token.encode(), Desk(state, clock)
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

    def trusts(self, given: Given) -> bool:
        """Return whether a request has the token, if there is one."""
        # The time that this takes says nothing about the token.
        sent = "" if given is None else given.credentials
        return not self.token or hmac.compare_digest(sent.encode(), self.token)

    def check_token(self, given: Given) -> None:
        """Refuse a request without the token."""
        if not self.trusts(given):
            said = "no token, or a wrong one: send the header Authorization: Bearer and what the"
            more = {"WWW-Authenticate": "Bearer"}
            raise HTTPException(401, f"{said} server has in {TOKEN}", more)

    async def invoke(self, body: Invocation) -> dict[str, Any]:
        """Predict rows; each prediction is in the state before it is returned."""
        champion, rules = self.follower.champion, self.follower.rules
        if champion is None:
            raise refusal(503, "no champion yet: run `leaseboard live update`")
        rows, level = body.rows, LEVEL if champion.snapshot.levels else None
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
            found = await self.desk.ask(champion, ids, values)
        except DataError as error:
            raise refusal(400, str(error)) from error
        self.predictions.inc(len(rows))
        unknown = [rules.unknown_categories(row) for row in rows]
        about = {"ids": ids, "level": level, "snapshot": champion.describe()}
        return shown(found) | about | ({"unknown_categories": unknown} if any(unknown) else {})

    async def ping(self, given: Given) -> JSONResponse:
        """Return whether there is a champion, and which; with the token, also a fault."""
        champion, found, faults = self.follower.champion, {"status": "ok"}, [self.follower.fault]
        try:
            await asyncio.to_thread(self.state.check)
        except LeaseboardError as error:
            found["status"] = "the state cannot be written"
            faults.append(str(error))
        if champion is None:
            found["status"] = "no champion yet"
        status = 200 if found["status"] == "ok" else 503
        more = {} if champion is None else {"snapshot": champion.describe()}
        if self.trusts(given):  # it names places of this machine
            found["fault"] = "; ".join(filter(None, faults))
        return JSONResponse(found | more, status)

    def version(self) -> PlainTextResponse:
        """Return the version of MLflow."""
        return PlainTextResponse(installed("mlflow"))

    def metrics(self) -> PlainTextResponse:
        """Return the metrics, for Prometheus."""
        lifecycle, updates = LifecycleState.read(self.state.lifecycle()), self.state.last_update()
        self.incidents.set(sum(each.is_open for each in lifecycle.incidents))
        for outcome in updates.keys() & {"success", "failure"}:
            at = datetime.fromisoformat(updates[outcome])
            self.updates.labels(outcome).set(at.timestamp())
        return PlainTextResponse(generate_latest(self.registry))

    async def measure(
        self, request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Answer a request, and measure how long that takes; refuse a large body unread."""
        began = time.perf_counter()
        size = request.headers.get("content-length", "" if request.method == "POST" else "0")
        try:
            said = f"more than {MOST_BYTES:,} bytes: send fewer rows in a request"
            answer: Response = JSONResponse({"error": said}, 413)
            if size.isdecimal() and int(size) <= MOST_BYTES:
                answer = await call_next(request)
        except Exception as error:  # noqa: BLE001  (no traceback is a caller's)
            self.follower.report(f"internal error: {type(error).__name__}: {short(str(error))}")
            said = "internal error: the server's output says more"
            answer = JSONResponse({"error": said}, 500)
        path = getattr(request.scope.get("route"), "path", "other")
        seconds = self.seconds.labels(path, answer.status_code)
        seconds.observe(time.perf_counter() - began)
        return answer


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
    guarded = [Depends(server.check_token)]
    app.post("/invocations", dependencies=guarded)(server.invoke)
    app.get("/version", dependencies=guarded)(server.version)
    app.get("/metrics", dependencies=guarded)(server.metrics)
    app.get("/ping")(server.ping)
    for kind in (AnyHTTPException, RequestValidationError, LeaseboardError):
        app.add_exception_handler(kind, _refused)
    app.middleware("http")(server.measure)
    if not server.token:
        # A page in a browser here could ask us by a name of its own that leads to loopback.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = short(".".join(map(str, first["loc"][1:])), 100)
        said = short(f"{where}{rule(first)}".removeprefix(": "))
        error = refusal(400, f"{said}: send {EXAMPLE}")
    if not isinstance(error, AnyHTTPException):
        error = refusal(503, str(error))
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


def shown(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return predictions as MLflow does, and next to them their intervals, or probabilities.

    An end that is not known yet is null.
    """
    if isinstance(predictions[0], Mapping):
        return {"predictions": [*map(likeliest, predictions)], "probabilities": predictions}
    rows: list[Any] = [each if isinstance(each, list) else [each] for each in predictions]
    finite = [[value if math.isfinite(value) else None for value in row] for row in rows]
    intervals = {"intervals": [ends for _, *ends in finite]} if len(rows[0]) > 1 else {}
    return {"predictions": [row[0] for row in finite], **intervals}
