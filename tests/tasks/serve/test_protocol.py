"""Callers who do not say what they want."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
import uvicorn

from leaseboard.flows.commands.live import _listening
from leaseboard.tasks.serve import app
from leaseboard.tasks.serve.app import PatientProtocol

ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def _app(_scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"2")]})  # fmt: skip
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def talk(monkeypatch):
    """Return a function that says something and returns all that is answered until the end."""

    def run(*said, patience):
        monkeypatch.setattr(app, "PATIENCE", patience)

        async def conversation():
            config = uvicorn.Config(_app, http=PatientProtocol, lifespan="off", port=0,
                                    log_level="critical")  # fmt: skip
            server = uvicorn.Server(config)
            config.load()
            server.lifespan = config.lifespan_class(config)
            await server.startup()
            try:
                port = server.servers[0].sockets[0].getsockname()[1]
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                heard = b""
                for each in said:
                    writer.write(each)
                    if each.endswith(b"\r\n\r\n"):
                        heard += await reader.readuntil(b"ok")
                heard += await asyncio.wait_for(reader.read(), 60)
                writer.close()
                return heard
            finally:
                await server.shutdown()

        return asyncio.run(conversation())

    return run


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_who_does_not_finish_a_head_is_left(talk, said):
    assert talk(said, patience=0.05) == b""


def test_anyone_who_asked_once_may_not_stop_in_the_middle_of_the_next(talk):
    assert talk(ASKED, ASKED, ASKED[:5], patience=1.0).count(b"200 OK") == 2


def test_a_head_that_never_ends_is_refused(talk):
    assert b"400 Bad Request" in talk(ASKED[:-2] + b"a: " + b"x" * 100_000, patience=60)


def test_an_answer_is_sent_at_once_and_a_request_knows_when_it_arrived():
    known = []

    async def app(scope, receive, send):
        known.append(scope["state"]["arrived"])
        (connection,) = server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        known.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await _app(scope, receive, send)

    async def conversation(listener):
        await server.startup(sockets=[listener])
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        for _ in range(2):
            writer.write(ASKED)
            await reader.readuntil(b"ok")
        writer.close()
        await server.shutdown(sockets=[listener])

    config = uvicorn.Config(app, http=PatientProtocol, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    began = time.perf_counter()
    with _listening("127.0.0.1", 0) as listener:
        asyncio.run(conversation(listener))
    first, no_delay, second, still = known
    assert min(no_delay, still), "the body would wait until the head is acknowledged, 40 ms"
    assert began < first < second
