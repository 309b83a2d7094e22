# The public names with their places, for `__init__.py` and for type checkers.

from leaseboard.algorithms.base import Algorithm as Algorithm
from leaseboard.algorithms.base import Run as Run
from leaseboard.algorithms.chacha.presets import ChaChaClassifier as ChaChaClassifier
from leaseboard.algorithms.chacha.presets import ChaChaRegressor as ChaChaRegressor
from leaseboard.algorithms.environments.stream import StreamEnvironment as StreamEnvironment
from leaseboard.algorithms.errors import UsageError as UsageError
from leaseboard.algorithms.online_automl.scikit import StreamClassifier as StreamClassifier
from leaseboard.algorithms.online_automl.scikit import StreamRegressor as StreamRegressor
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier as OnlineAutoMLClassifier,
)
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLRegressor as OnlineAutoMLRegressor,
)
from leaseboard.algorithms.policy import ArmPolicy as ArmPolicy
from leaseboard.algorithms.policy import Policy as Policy
from leaseboard.algorithms.policy import Problem as Problem
from leaseboard.algorithms.sequential_test import SequentialTest as SequentialTest
from leaseboard.tasks.models.automl.estimators import AutoMLClassifier as AutoMLClassifier
from leaseboard.tasks.models.automl.estimators import AutoMLRegressor as AutoMLRegressor
from leaseboard.tasks.models.automl.search import SelectionSearch as SelectionSearch
from leaseboard.tasks.steps.interactive import Leaderboard as Leaderboard
from leaseboard.tasks.steps.interactive import race as race

PLACES: dict[str, str]
__version__: str
