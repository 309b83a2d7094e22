"""The tests of SMAC's adapter are collected only where the extra is installed."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("smac") else ["test_smac.py"]
