"""A process that obeys: what the tests of `Subprocess` start."""

import os
import sys
import time
from pathlib import Path

from leaseboard.tasks.processes.child import messages, to_parent


def main():
    parent = to_parent()
    descriptor = parent.fileno()
    for order in messages(parent):
        match order.decode(errors="replace").split(" ", 1):
            case ["print", text]:
                print(text)
                parent.send_bytes(b"printed")
            case ["wait", fifo]:
                Path(fifo).read_text()
                parent.send_bytes(b"said")
                os._exit(7)
            case ["begin"]:
                os.write(descriptor, b"\0\0")
                os._exit(7)
            case ["close"]:
                os.close(descriptor)
                time.sleep(600)
            case ["orphan"]:
                if os.fork():
                    os._exit(7)
                next(messages(parent), None)  # holds the channel until our end of it is closed
            case _:
                parent.send_bytes(order)
    Path(sys.argv[2]).write_text("ended")


if __name__ == "__main__":
    main()
