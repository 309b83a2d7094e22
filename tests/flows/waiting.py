"""What tests of processes wait for; a loaded machine must not fail them."""

import socket
import time


def until(holds, process=None, said=lambda: "", within=900.0):
    """Wait until `holds` returns something, which is returned, while `process` runs."""
    deadline = time.monotonic() + within
    while not (found := holds()):
        assert process is None or process.poll() is None, said()
        assert time.monotonic() < deadline, said()
        time.sleep(0.02)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
