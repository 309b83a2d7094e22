import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from leaseboard.tasks.live.record import publish
from leaseboard.tasks.serve.app import Server, application
from leaseboard.tasks.serve.champion import Follower
from leaseboard.tasks.store.live_model import State
from tests.tasks.live.conftest import shop, uri  # noqa: F401  (fixtures)
from tests.tasks.live.shops import LATER

NOW = datetime(2026, 2, 1, tzinfo=UTC)


class Asker:
    """A server in this process, asked without a socket."""

    def __init__(self, made, address, *, token="", learned=True, patience=30.0, task="regression"):
        self.shop, self.said = made, []
        kept = made.live
        kept.recipe = replace(kept.recipe, task=task)
        kept.settings.contract.write_text(made.contract().to_yaml())
        if learned:
            made.update().update()
            publish(address, kept, LATER)
        own = State(kept.state.place, "sales", patience)
        self.follower = Follower(address, kept.settings, own, self.said.append)
        self.follower.look()
        self.server = Server(self.follower, own, token, lambda: NOW)
        self.app = application(self.server)

    def ask(self, method, path, body=None, **given):
        """Return the status and the body of an answer."""
        (found,) = self.ask_many([(method, path, body)], **given)
        return found

    def predict(self, *rows, **given):
        """Return the status and the body of the answer to rows."""
        return self.ask("POST", "/invocations", {"dataframe_records": list(rows)}, **given)

    def ask_many(self, questions, *, headers=None, host="127.0.0.1"):
        """Return the answers to questions that come at once."""

        async def all_of_them():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
                sent = {"content-type": "application/json", **(headers or {})}
                return await asyncio.gather(*(
                    client.request(
                        method, path, headers=sent,
                        content=json.dumps(body) if isinstance(body, dict | list) else body,
                    )
                    for method, path, body in questions
                ))  # fmt: skip

        found = asyncio.run(all_of_them())
        return [
            (each.status_code,
             each.json() if "json" in each.headers["content-type"] else each.text)
            for each in found
        ]  # fmt: skip

    def served(self):
        """Return the text of the log."""
        with self.shop.live.state.connected() as connection:
            query = "select id, snapshot, prediction from live_sales_served order by number"
            return connection.exec_driver_sql(query).all()


@pytest.fixture
def asker(shop, uri):  # noqa: F811  (they are fixtures)
    """Yield a function that makes a server, with its options."""
    made = []

    def make(**options):
        made.append(Asker(shop, uri, **options))
        return made[-1]

    yield make
    for each in made:
        each.server.desk.stop()


@pytest.fixture
def row():
    """Return a row that keeps the contract."""
    return {"order": "a-1", "day": "2026-01-02", "price": 1.25, "rain": True, "shop": "x"}
