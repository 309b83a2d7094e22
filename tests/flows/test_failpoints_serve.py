"""The server of a live model ends at each failpoint; its callers ask again."""

import http.client
import json
import os
import signal
import sys
import traceback
from contextlib import closing

from leaseboard.flows import cli
from leaseboard.tasks.machine.disk import VARIABLE
from tests.flows.swept import outcome, update
from tests.flows.waiting import free_port, until
from tests.sweep import POINTS, Sweep, in_fork, query

SECONDS = 240
SERVED = "select id, prediction from live_sales_served"


class Callers:
    """A client of a server, which asks for predictions."""

    def __init__(self, world):
        asked = world.day(3).drop(columns="revenue").to_dict("records")
        self.body, self.unlogged = {"dataframe_records": asked}, []

    def session(self, _words, home, failpoint):
        """Start a server, ask, and stop it; 70 if a request has no answer."""
        port = free_port()
        pid, said = os.fork(), home.parent / "said"
        if not pid:
            code = 1
            try:
                os.chdir(home)
                os.environ[VARIABLE] = failpoint
                sys.stdout = sys.stderr = said.open("a")
                cli.main(["live", "serve", "sales.yaml", "--run-dir", ".", "--port", str(port)])
            except SystemExit as end:
                code = end.code or 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc(file=said.open("a"))
            finally:
                os._exit(code)
        status = 0
        if self._is_up(pid, port):
            status, found = self._post(port, "/invocations", self.body)
            if status == 200:  # note what was answered and is not in the state
                logged = {each for each, _ in query(home / "state.sqlite", SERVED)}
                self.unlogged += sorted(set(found["ids"]) - logged)
        try:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        except (ChildProcessError, ProcessLookupError):
            pass
        return 0 if status == 200 else 70

    @staticmethod
    def _is_up(pid, port):
        """Return whether it has its champion; it cannot read the state where a point fails."""

        def look():
            if os.waitpid(pid, os.WNOHANG)[0]:
                return "gone"
            status, found = Callers._post(port, "/ping", None)
            return "up" if status == 200 else found and (found.get("fault") or found["error"])

        return until(look) == "up"

    @staticmethod
    def _post(port, path, body):
        """Return the status and the answer; 0 if the server has gone."""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as caller:
            try:
                kind = {"content-type": "application/json"}
                text = None if body is None else json.dumps(body)
                caller.request("GET" if body is None else "POST", path, text, kind)
                answer = caller.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                return 0, None


def test_callers_who_ask_again_lose_nothing_and_double_nothing(swept, capsys):
    def prepare(_):
        world = swept.new(1)
        swept.callers = Callers(world)
        world.deliver(3, world.day(3))

    def after_update(home):
        """Return what was logged, and what the next update makes of it."""
        served = {tuple(each) for each in query(home / "state.sqlite", SERVED)}
        assert in_fork(update(3), home) in (0, 1)
        return {"served": sorted(served), "unlogged": swept.callers.unlogged,
                **outcome(home, swept.webhook.reported)}  # fmt: skip

    def call(words, home, failpoint):
        return swept.callers.session(words, home, failpoint)

    sweep = Sweep(
        [], swept.folder, prepare, after_update, is_done=lambda _: True, before=swept.clear,
        call=call,
    )  # fmt: skip
    sweep.passages, sweep.full = 1, ("serve.before", "store.")
    sweep.passes = [each for each in POINTS if each.startswith("serve.")]
    sweep.run()
    with capsys.disabled():
        print(f"\nlive serve: {sweep.cases} cases, {len(sweep.faults)} faults")
    assert not sweep.faults, "\n".join(each[:2000] for each in sweep.faults)
    assert not swept.callers.unlogged, "in the whole run, too"
