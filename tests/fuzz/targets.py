"""Targets of fuzzing: for each, valid content, how it is mutated, and the reader that gets it."""

from __future__ import annotations

from functools import partial

from tests.fuzz.models import model_file, model_seeds, of_model
from tests.fuzz.records import (
    log_file,
    log_seeds,
    of_log,
    of_result,
    result_file,
    result_seeds,
)
from tests.fuzz.server import REQUESTS, of_request, request
from tests.fuzz.tables import (
    ARFF,
    CONTRACT_YAML,
    CSV,
    LIBSVM,
    LIVE_YAML,
    live_file,
    of_parquet,
    parquet_seeds,
    suite_file,
    table_file,
    table_to_learn,
    yaml_seeds,
)
from tests.fuzz.target import Target, encoded, texts

TARGETS = {
    "csv": Target(encoded(*CSV), texts("sep=", "2026-01-01", "1.5"),
                  partial(table_file, ".csv")),
    "arff": Target(encoded(*ARFF), texts("@data", "@attribute", "{1 2}", "numeric", "string"),
                   partial(table_file, ".arff")),
    "libsvm": Target(encoded(*LIBSVM), texts("1:1", "qid:", "99999999:1", "-1:2"),
                     partial(table_file, ".libsvm")),
    "parquet": Target(parquet_seeds, of_parquet, partial(table_file, ".parquet")),
    "learn": Target(encoded(*CSV), texts("sep=", "2026-01-01", "1.5"), table_to_learn),
    "suite": Target(yaml_seeds("suites/*.yaml", "schedule.yaml", "data/*.yaml", "spaces/*.yaml"),
                    texts("algorithms:", "data:", "<<: *a", "!!set", "? x"), suite_file),
    "live": Target(lambda: [LIVE_YAML, CONTRACT_YAML], texts("2d", "kind: ", "{", "[x"),
                   live_file),
    "model": Target(model_seeds, of_model, model_file),
    "log": Target(log_seeds, of_log, log_file),
    "result": Target(result_seeds, of_result, result_file),
    "request": Target(lambda: REQUESTS, of_request, request),
}  # fmt: skip
"""By name."""
