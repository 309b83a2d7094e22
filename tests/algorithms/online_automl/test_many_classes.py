"""ChaCha over an environment's stream of classes: as the classifier, and reported as one run."""

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    of,
)
from leaseboard.algorithms.online_automl.one_vs_rest import FIRST
from leaseboard.algorithms.testing import Tiny, tiny_environment


def run(environment, **settings):
    algorithm = registry.build("online-automl", settings)
    log = list(play("online-automl", algorithm, environment, 0))
    return log, environment


def tiny():
    return tiny_environment("stream", Tiny(classes=3))


def test_the_champion_is_the_whole_with_one_of_each_class():
    log, environment = run(tiny(), b=4)
    (champion,) = of(log, ChampionChanged)
    (scored,) = of(log, ConfigurationScored)
    whole = of(log, ConfigurationAdmitted)[-1]
    first, *others = environment.stream.classes

    assert champion.configuration == scored.configuration == whole.configuration
    assert scored.value == environment.score().value
    assert [*whole.parameters] == [first, *others]
    assert whole.parameters[first] == FIRST
    last = {e.label: e.configuration for e in of(log, ClassChampionChanged)}
    known = {e.configuration: dict(e.parameters) for e in of(log, ConfigurationAdmitted)}
    for label in others:
        assert {"class": label, **whole.parameters[label]} == known[last[label]]
