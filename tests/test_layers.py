"""The layers of pyproject.toml, as import-linter checks them."""

import contextlib
import io
from pathlib import Path

from importlinter.cli import lint_imports

CONTRACTS = Path(__file__).resolve().parents[1] / "pyproject.toml"


def test_contracts_hold():
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = lint_imports(config_filenames=(str(CONTRACTS),), no_cache=True)

    assert code == 0, said.getvalue()
