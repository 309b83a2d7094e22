"""``python -m flows`` is the command `leaseboard`."""

from leaseboard.__main__ import start

start()
