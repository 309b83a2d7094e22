"""A schedule in a folder of its own, and the command that serves it."""

import os
import signal
from pathlib import Path

import psutil

from tests.flows import waiting

ROOT = Path(__file__).resolve().parents[2]
OWN = '''
import os, time
from pathlib import Path
from leaseboard.algorithms.chacha.presets import Vanilla

class Sleeper(Vanilla):
    """Sleep before the work; say in a file who sleeps."""

    def run(self, env, seed):
        Path("{home}/asleep").write_text(str(os.getpid()))
        time.sleep(600)
        yield from super().run(env, seed)


class Waits(Vanilla):
    """Vanilla, when it may."""

    def run(self, env, seed):
        Path("{home}/waits").touch()
        while not Path("{home}/go").exists():
            time.sleep(0.1)
        yield from super().run(env, seed)


class Broken(Vanilla):
    """Has no luck."""

    def run(self, env, seed):
        raise ValueError("out of luck")
        yield
'''
SUITE = (
    "title: T\ndata: ['synthetic:fried?rows=500&seed=0']\nbaselines: false\n"
    "algorithms: [{algorithms}]\nenvironment: {{max_rows: 400}}\n"
)
SCHEDULE = """
schedules:
  - {{name: slow, cron: "0 0 1 1 *", suite: slow, out: {home}/runs/slow, workers: 1}}
  - {{name: mixed, cron: "0 0 1 1 *", suite: mixed, out: {home}/runs/mixed, workers: 1}}
"""


def make_home(home, plan=SCHEDULE):
    """Return a folder with suites, and a schedule of them."""
    (home / "conf" / "suites").mkdir(parents=True)
    own = home / "own.py"
    own.write_text(OWN.format(home=home))
    suites = {
        "tiny": "vanilla",
        "slow": f"'{own}:Sleeper'",
        "mixed": f"vanilla, '{own}:Broken'",
        "waiting": f"vanilla, '{own}:Waits'",
    }
    for name, algorithms in suites.items():
        path = home / "conf" / "suites" / f"{name}.yaml"
        path.write_text(SUITE.format(algorithms=algorithms))
    (home / "conf" / "schedule.yaml").write_text(plan.format(home=home))
    return home


def schedule(zygote, home, *options, **environment):
    """Start ``leaseboard schedule`` in `home`; what it says goes to ``said.txt``."""
    own = {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(home / ".prefect")}
    with (home / "said.txt").open("w") as said:
        words = ["-m", "leaseboard", "schedule", *options]
        env = os.environ | own | environment
        return zygote.start(words, cwd=home, out=said, err=said, env=env)


def stop(process, number=signal.SIGTERM):
    """End it with a signal; nothing that it started may be left."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.wait(240)
    _, alive = psutil.wait_procs(family, timeout=240)
    assert not alive
    return process.returncode


def trigger(client, name, flow="benchmark"):
    deployment = client.read_deployment_by_name(f"{flow}/{name}")
    return client.create_flow_run_from_deployment(deployment.id)


def until(holds, home, process=None):
    waiting.until(holds, process, (home / "said.txt").read_text)


def state(client, run):
    return client.read_flow_run(run.id).state


def jobs(client, run):
    """Return the states of the task runs of a flow run by their names."""
    body = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
    found = client.request("POST", "/task_runs/filter", json=body).json()
    return {each["name"]: each["state_type"] for each in found}


def logs(client, *found):
    """Return the lines of the logs of flow runs, in order."""
    lines, body = [], {"logs": {"flow_run_id": {"any_": [str(run) for run in found]}}}
    while page := client.request(
        "POST", "/logs/filter", json=body | {"offset": len(lines), "sort": "TIMESTAMP_ASC"}
    ).json():
        lines += [line["message"] for line in page]
    return "\n".join(lines).splitlines()
