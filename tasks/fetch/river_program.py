"""Program inside River's environment: ``python river_program.py NAME`` prints a dataset.

It imports nothing of Leaseboard. What it prints is JSON: the columns of the features by name and
the target, in River's order and of the types that River's class gives them.
"""

import json
import sys
from typing import Any


def read(name: str) -> dict[str, Any]:
    """Return the dataset `name`: ``features`` by column, and the ``target``."""
    from river import datasets

    columns: dict[str, list[Any]] = {}
    target = []
    for example, label in getattr(datasets, name)():
        for column, value in example.items():
            columns.setdefault(column, []).append(value)
        target.append(label)
    return {"features": columns, "target": target}


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout)
