"""``python -m flows`` is the command `leaseboard`."""

from flows.cli import main

main()
