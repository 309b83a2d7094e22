import os
import subprocess
import sys
import time

from leaseboard.tasks.machine.owners import BEAT, GRACE, _owner, is_alive, owner


def test_owners_are_distinguished():
    here = owner()
    host, pid, started, boot = here.split(" ")

    assert is_alive(here)
    assert not is_alive(f"{host} {pid} {int(started) - 500} {boot}")
    assert not is_alive(f"{host} {pid} {started} another")  # the same after a reboot
    assert not is_alive(f"{host} 999999999 {started} {boot}")
    assert is_alive(f"renamed {pid} {started} {boot}")
    assert not is_alive(f"renamed {pid} {int(started) - 500} {boot}")
    assert is_alive(f"elsewhere {pid} {started} another"), "it has no heartbeat"
    for name in ("elsewhere", host):  # two containers may have one host name
        elsewhere = f"{name} {pid} {started} another"
        assert is_alive(elsewhere, time.time() - BEAT)
        assert not is_alive(elsewhere, time.time() - GRACE)
    assert not is_alive("", time.time())


def test_a_zombie_process_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = _owner(process.pid)
    assert is_alive(other)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not is_alive(other)
    process.communicate()
