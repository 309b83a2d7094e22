"""A run of stand-in jobs in a process of its own, to be killed.

child.py OUT URI DATA...

With ``PREFECT_API_URL`` it goes through that server, otherwise without Prefect; with ``CLUSTER``
it runs on the Dask cluster of that address.
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from suites import SuiteRunner

from leaseboard.tasks.folder import results
from leaseboard.tasks.machine.environment import prepare_environment

if __name__ == "__main__":
    # A shell's background job inherits an ignored SIGINT, also through the tests' runner.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare_environment()
    out, uri, *data = sys.argv[1:]
    runner = SuiteRunner(Path(out), uri, data, seeds=(1, 2, 3))
    with results.locked(runner.out):
        cluster = os.environ.get("CLUSTER")
        runner.reference = "sklearn:diabetes" if cluster else ""
        outcome = runner.run(workers=2, local="PREFECT_API_URL" not in os.environ, cluster=cluster)
    print(*(result.status for result in outcome.results), *outcome.problems)
